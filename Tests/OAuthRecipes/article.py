"""Takes the blocks out of an article, and the snippets out of a Swift file."""
import re
import textwrap

MARKER = re.compile(r"<!-- (?:recipe|snippet): ([\w-]+) -->")


def blocks(path):
    """The text of each block by the name in the line above it; one without a name is an error."""
    found, name, inside = {}, None, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if inside is not None:
            if line == "```":
                inside = None
            else:
                found[inside] += line + "\n"
        elif line.startswith("```"):
            if name is None or name in found:
                raise ValueError(f"{path.name}:{number}: the block has no name of its own")
            inside = name
            found[inside] = ""
        marker = MARKER.fullmatch(line)
        name = marker[1] if marker else None
    return found


def snippets(path):
    """The code between `// snippet: NAME` and `// snippet end`, by name."""
    found, name = {}, None
    for line in path.read_text().splitlines():
        text = line.strip()
        if text == "// snippet end":
            name = None
        elif text.startswith("// snippet: "):
            name = text.removeprefix("// snippet: ")
            found[name] = ""
        elif name:
            found[name] += line + "\n"
    return {name: textwrap.dedent(text) for name, text in found.items()}
