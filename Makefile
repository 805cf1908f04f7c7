# Forwards the usual words; meson.build is the build. make PREFIX=/where chooses the place of the
# installation, and later calls keep it.
BUILD = build/release
PREFIX =
# Not with clang, whose libdibs.a no other compiler could link. `make LTO=` goes without.
LTO = $(if $(findstring clang,$(CC)),,-Db_lto=true)
all: configure ; ninja -C $(BUILD)
demo: ; ./demo
check: ; ./check
install: all ; meson install -C $(BUILD) --no-rebuild
configure:
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --buildtype=release $(LTO) \
	  -Dtests=disabled -Dexamples=disabled $(if $(PREFIX),--prefix='$(PREFIX)')
	$(if $(PREFIX),@test '$(PREFIX)' = "$$(cat $(BUILD)/prefix 2>/dev/null)" || \
	  { meson configure $(BUILD) --prefix='$(PREFIX)' && echo '$(PREFIX)' >$(BUILD)/prefix; })
.PHONY: all demo check install configure
