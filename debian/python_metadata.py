"""Writes what Python's importlib.metadata reads of an installed package, from its pyproject.toml, as pip would.

Usage: python_metadata.py SOURCE DIRECTORY
"""
import ast
import pathlib
import sys
import tomllib

source, directory = map(pathlib.Path, sys.argv[1:])
project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
module = ast.parse((source / "coffer.py").read_text())
version = next(
    ast.literal_eval(line.value) for line in module.body
    if isinstance(line, ast.Assign) and line.targets[0].id == "__version__")
place = directory / f"{project['name']}-{version}.dist-info"
place.mkdir()
(place / "METADATA").write_text(
    f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n"
    f"Summary: {project['description']}\nLicense: {project['license']['text']}\n")
groups = project["entry-points"].items()
(place / "entry_points.txt").write_text("".join(
    f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items()) for group, entries in groups))
