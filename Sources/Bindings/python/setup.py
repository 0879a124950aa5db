"""What pyproject.toml cannot say: a wheel with the library in it is for one platform, and for every Python 3 there."""

import pathlib

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

here = pathlib.Path(__file__).parent
has_library = any([*here.glob("chime_timers/libchime.*"), *here.glob("chime_timers/chime-*.dll")])


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return has_library


class Wheel(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", self.plat_name.translate({ord(each): "_" for each in "-."})) if has_library else super().get_tag()


setup(distclass=WithLibrary, cmdclass={"bdist_wheel": Wheel})
