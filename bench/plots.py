"""Plots for the book, as SVG with nothing but the standard library.

A plot brings its own background, light or dark as the machine of its reader is, so that it can be read on any page.
"""

import html
import math

# Text, lines and areas, for a light machine and a dark one.
STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px }
.card { fill: #ffffff; stroke: #d0d7de }
.axis { stroke: #57606a; fill: none }
.grid { stroke: #d8dee4 }
.bar, .dot { fill: #0969da }
.line { stroke: #0969da; fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.card { fill: #161b22; stroke: #30363d }
.axis { stroke: #8b949e }
.grid { stroke: #30363d }
.bar, .dot { fill: #58a6ff }
.line { stroke: #58a6ff }
}
</style>"""

WIDTH = 760


def document(height, title, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" '
            f'aria-label="{html.escape(title)}">\n{STYLE}\n'
            f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>\n'
            + words(16, 26, title, "title") + "".join(body) + "</svg>\n")


def words(x, y, text, kind="", anchor="start", turn=False):
    classes = f' class="{kind}"' if kind else ""
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{classes}{turned}>{html.escape(text)}</text>\n'


def line(x1, y1, x2, y2, kind):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>\n'


def short(number):
    """A number in as few characters as its size asks for."""
    if number == 0:
        return "0"
    if number >= 1000:
        return f"{number:,.0f}"
    if number >= 10 or number == int(number):
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 1 else f"{number:.2g}"


def bars(title, axis, rows):
    """Bars for factors, on an axis in powers of ten that begins at a tenth where a factor is below one.

    Takes names with their factors."""
    left, right, top, step = 330, WIDTH - 70, 44, 26
    lowest = -1 if min(factor for _, factor in rows) < 1 else 0
    highest = max(1, math.ceil(math.log10(max(factor for _, factor in rows))))
    bottom = top + step * len(rows) + 6

    def place(factor):
        power = min(max(math.log10(max(factor, 1e-9)), lowest), highest)
        return left + (right - left) * (power - lowest) / (highest - lowest)

    body = []
    for power in range(lowest, highest + 1):
        x = place(10.0 ** power)
        body += [line(x, top, x, bottom, "grid"), words(x, bottom + 18, f"{short(10.0 ** power)}×", anchor="middle")]
    for number, (name, factor) in enumerate(rows):
        y, start = top + step * number + 4, place(1)
        x, end = min(start, place(factor)), max(start, place(factor))
        body += [words(left - 10, y + 14, name, anchor="end"),
                 f'<rect class="bar" x="{x:.1f}" y="{y:.1f}" width="{max(end - x, 1):.1f}" height="{step - 8}" rx="2"/>\n',
                 words(end + 6, y + 14, f"{short(factor)}×")]
    body += [line(place(1), top, place(1), bottom, "axis"),
             words((left + right) / 2, bottom + 40, axis, anchor="middle")]
    return document(bottom + 54, title, body)


def curve(title, x_axis, y_axis, points):
    """A line through points, on a horizontal axis in powers of ten and a vertical one from zero."""
    left, right, top, bottom = 90, WIDTH - 40, 50, 280
    powers = [math.log10(x) for x, _ in points]
    first, last = math.floor(min(powers)), max(math.ceil(max(powers)), math.floor(min(powers)) + 1)
    step = nice(max(max(y for _, y in points) * 1.25, 1e-9) / 4)

    def at(x, y):
        return (left + (right - left) * (math.log10(x) - first) / (last - first),
                bottom - (bottom - top) * y / (step * 4))

    body = []
    for power in range(first, last + 1):
        x, _ = at(10.0 ** power, 0)
        body += [line(x, top, x, bottom, "grid"), words(x, bottom + 20, short(10.0 ** power), anchor="middle")]
    for number in range(5):
        _, y = at(1, step * number)
        body += [line(left, y, right, y, "grid"), words(left - 8, y + 4, short(step * number), anchor="end")]
    places = [at(x, y) for x, y in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    body.append(f'<polyline class="line" points="{path}"/>\n')
    for (x, y), (_, value) in zip(places, points):
        body += [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>\n', words(x, y - 10, short(value), anchor="middle")]
    body += [line(left, top, left, bottom, "axis"), line(left, bottom, right, bottom, "axis"),
             words((left + right) / 2, bottom + 44, x_axis, anchor="middle"),
             words(26, (top + bottom) / 2, y_axis, anchor="middle", turn=True)]
    return document(bottom + 60, title, body)


def nice(step):
    """The next step that a reader can count in."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= step * 0.999)
