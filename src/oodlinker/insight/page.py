"""One HTML page that stands alone: its style and pictures are inside, nothing is fetched.

    write_text(path, page("Title", ["What this is."], [section("One", paragraph("Text."))]))

Blocks are HTML; the functions that make them escape every text that they are given.
"""

import base64
from collections.abc import Iterable
from html import escape

from oodlinker.insight.drawing import Drawing


def page(title: str, lead: Iterable[str], sections: Iterable[str]) -> str:
    """A whole page.

    Args:
        title: its heading.
        lead: sentences under the heading.
        sections: as `section` makes them.
    """
    paragraphs = "".join(f'<p class="lead">{escape(text)}</p>' for text in lead)
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n"
        f"<body><header><h1>{escape(title)}</h1>{paragraphs}</header>\n"
        f"<main>\n{chr(10).join(sections)}\n</main></body></html>\n"
    )


def section(heading: str, *blocks: str) -> str:
    """A part of a page under a heading of its own."""
    return f"<section><h2>{escape(heading)}</h2>{''.join(blocks)}</section>"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def bullets(texts: Iterable[str]) -> str:
    """A list of sentences."""
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"


def code(text: str) -> str:
    """Commands or settings, as typed."""
    return f'<pre class="scroll" tabindex="0"><code>{escape(text)}</code></pre>'


def figure(drawing: Drawing, caption: str) -> str:
    """A picture with what it shows under it; the dark one where the reader's system is dark."""
    return (
        "<figure><picture>"
        f'<source media="(prefers-color-scheme: dark)" srcset="{_data(drawing.dark)}">'
        f'<img src="{_data(drawing.light)}" alt="{escape(drawing.alt, quote=True)}">'
        f"</picture><figcaption>{escape(caption)}</figcaption></figure>"
    )


def _data(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


# The browser itself refuses whatever is not in the page.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = """
:root{--ground:#fff;--ink:#1f2328;--faint:#59636e;--line:#d1d9e0;--soft:#f3f5f8;--accent:#0072b2}
@media (prefers-color-scheme:dark){:root{--ground:#14181d;--ink:#e6edf3;--faint:#9aa4af;
--line:#30363d;--soft:#1d232a;--accent:#56b4e9}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:46rem;padding:1.2rem 1rem 4rem;background:var(--ground);
color:var(--ink);font:1rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
h1{font-size:1.75rem;line-height:1.2;margin:.6rem 0 1rem}
h2{font-size:1.25rem;line-height:1.3;margin:2.4rem 0 .6rem;padding-top:.8rem;
border-top:1px solid var(--line)}
p,ul{margin:.7rem 0}
ul{padding-left:1.2rem}
.lead{font-size:1.06rem}
figure{margin:1.2rem 0}
img{display:block;width:100%;max-width:34rem;height:auto}
figcaption{color:var(--faint);font-size:.92rem;margin-top:.4rem}
.scroll{overflow-x:auto}
.scroll:focus-visible{outline:2px solid var(--accent)}
table{border-collapse:collapse;font-size:.92rem;min-width:100%}
.table figcaption{margin:0 0 .5rem}
th,td{padding:.3rem .7rem .3rem 0;text-align:left;border-bottom:1px solid var(--line);
vertical-align:top}
thead th{font-weight:600}
tbody th{font-weight:400}
th,td{white-space:nowrap}
.number{text-align:right;font-variant-numeric:tabular-nums}
.strong th,.strong td{font-weight:600}
pre{background:var(--soft);padding:.8rem;border-radius:.4rem;font-size:.86rem;line-height:1.45}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
""".replace("\n", "")
