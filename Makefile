# Forwards the usual words; meson.build is the build.
all: ; @test -f build/release/build.ninja || meson setup build/release --buildtype=release -Dtests=false; ninja -C build/release
demo: ; ./demo
check: ; ./check
install: all ; meson install -C build/release --no-rebuild
.PHONY: all demo check install
