# SPDX-License-Identifier: MIT
vcpkg_download_distfile(ARCHIVE
  URLS "@URL@"
  FILENAME "dibs-@VERSION@.tar.gz"
  SHA512 @SHA512@)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")
vcpkg_configure_meson(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -Dtests=disabled -Dexamples=disabled -Dsim=disabled -Dtls=linked -Dhttp=disabled -Dscreen=disabled -Dwerror=false)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES dibs AUTO_CLEAN)
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/dibs)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
