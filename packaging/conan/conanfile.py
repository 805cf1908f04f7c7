# SPDX-License-Identifier: MIT
"""The recipe for Conan 2. Versions: what ConanCenter has of libraries that dibs builds with."""
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, get, rm, rmdir
from conan.tools.gnu import PkgConfigDeps
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain


class Dibs(ConanFile):
    name = 'dibs'
    version = '@VERSION@'
    description = 'Distributed locks on Redis and Valkey'
    license = 'MIT'
    package_type = 'library'
    settings = 'os', 'arch', 'compiler', 'build_type'
    options = {'shared': [True, False]}
    default_options = {'shared': True}

    def validate(self):
        if self.settings.os != 'Linux':
            raise ConanInvalidConfiguration('dibs runs on Linux only')

    def configure(self):
        self.settings.rm_safe('compiler.libcxx')
        self.settings.rm_safe('compiler.cppstd')

    def layout(self):
        basic_layout(self, src_folder='src')

    def requirements(self):
        self.requires('hiredis/[>=1.0 <2]')
        self.requires('jansson/[>=2.13 <3]')
        self.requires('openssl/[>=3 <4]')
        self.requires('uthash/2.3.0')

    def build_requirements(self):
        self.tool_requires('meson/[>=1.0 <2]')
        self.tool_requires('pkgconf/[>=2 <3]')

    def source(self):
        get(self, **self.conan_data['sources'][self.version], strip_root=True)

    def generate(self):
        toolchain = MesonToolchain(self)
        for feature in ('tests', 'examples', 'sim'):
            toolchain.project_options[feature] = 'disabled'
        toolchain.project_options['tls'] = 'linked'
        toolchain.project_options['werror'] = False
        toolchain.generate()
        PkgConfigDeps(self).generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        copy(self, 'LICENSE', self.source_folder, os.path.join(self.package_folder, 'licenses'))
        Meson(self).install()
        for folder in ('lib/pkgconfig', 'lib/cmake', 'share'):
            rmdir(self, os.path.join(self.package_folder, folder))
        rm(self, '*.a' if self.options.shared else '*.so*', os.path.join(self.package_folder, 'lib'))

    def package_info(self):
        # With the names that find_package() and pkg-config have for an installed dibs.
        core, data = self.cpp_info.components['core'], self.cpp_info.components['data']
        core.libs = ['dibs']
        core.system_libs = ['pthread']
        core.requires = ['hiredis::hiredis', 'openssl::openssl']
        core.set_property('cmake_target_name', 'dibs::dibs')
        core.set_property('pkg_config_name', 'dibs')
        data.libs = ['dibs-data']
        data.requires = ['core']
        data.set_property('cmake_target_name', 'dibs::data')
        data.set_property('pkg_config_name', 'dibs-data')
