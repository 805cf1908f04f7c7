# SPDX-License-Identifier: MIT
"""setup.py - the extension by cffi; everything else is in pyproject.toml."""
from setuptools import setup

setup(cffi_modules=['build_dibs.py:builder'], options={'bdist_wheel': {'py_limited_api': 'cp39'}})
