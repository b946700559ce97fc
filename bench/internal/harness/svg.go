package harness

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Sizes of the plot in pixels.
const (
	plotWidth = 960
	labelEdge = 250 // x position where the bars begin, after the names
	rightEdge = 880
	topEdge   = 64
	barHeight = 9
	rowGap    = 10
)

// plotStyle is the style sheet of a plot. It works in a file and within a page, on a light and on a dark background.
const plotStyle = `<style>
.plot{font:12px system-ui,sans-serif;--ink:#1d2733;--soft:#5b6875;--grid:#dfe4ea;--ferry:#0b7a75;--peer:#4a6fa5;--limit:#8a8f98;--seed:#b5651d}
@media(prefers-color-scheme:dark){.plot{--ink:#e6ebf0;--soft:#9aa7b4;--grid:#2f3a46;--ferry:#34c3b8;--peer:#85aee3;--limit:#a2a8b1;--seed:#e39b57}}
.plot text{fill:var(--ink)}.plot .soft{fill:var(--soft);font-size:11px}.plot .value{font-size:9px;fill:var(--soft)}.plot .title{font-size:14px;font-weight:600}
.plot .grid{stroke:var(--grid)}.plot .ferry{fill:var(--ferry)}.plot .peer{fill:var(--peer)}.plot .limit{fill:var(--limit)}.plot .seed{fill:var(--seed)}
</style>`

// SVG draws the headline figure.
func (r *Result) SVG() string { return r.bars(r.Unit, r.Title, r.Better) }

// bars draws a figure: a group of bars per row, a bar per case, on a logarithmic axis.
func (r *Result) bars(figure, title string, better Better) string {
	type group struct {
		row  Row
		bars []Stat // bars in the order of r.Plot; the zero Stat where the row has no value
	}
	var groups []group
	low, high := math.Inf(1), 0.0
	for _, row := range r.Rows {
		if row.Kind == Again {
			continue // its bars would say what those of the first row say
		}
		g, drawn := group{row: row}, false
		for _, name := range r.Plot {
			s := row.Cases[name][figure]
			g.bars = append(g.bars, s)
			if s.Median > 0 {
				drawn, low, high = true, min(low, s.Median), max(high, s.Median)
			}
		}
		if drawn {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return `<svg xmlns="http://www.w3.org/2000/svg"/>`
	}
	axis := newLogAxis(low, high)
	rowHeight := barHeight*len(r.Plot) + rowGap
	bottom := topEdge + rowHeight*len(groups)

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 %d %d" role="img" aria-label="%s">`, plotWidth, bottom+48, html.EscapeString(title))
	b.WriteString(plotStyle)
	fmt.Fprintf(&b, `<text class="title" x="12" y="22">%s</text>`, html.EscapeString(title))
	fmt.Fprintf(&b, `<text class="soft" x="12" y="42">Bars of a group, from the top: %s. Green ferry, grey limit, blue peers, brown recorded earlier.</text>`, html.EscapeString(strings.Join(r.Plot, ", ")))
	for _, tick := range axis.ticks {
		x := axis.at(tick)
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`, x, x, topEdge-6, bottom)
		fmt.Fprintf(&b, `<text class="soft" x="%.1f" y="%d" text-anchor="middle">%s</text>`, x, bottom+16, powerLabel(tick))
	}
	fmt.Fprintf(&b, `<text class="soft" x="%d" y="%d" text-anchor="middle">%s, logarithmic (%s is better)</text>`, (labelEdge+rightEdge)/2, bottom+36, html.EscapeString(figure), better)
	for i, g := range groups {
		top := topEdge + i*rowHeight
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, labelEdge-10, top+(rowHeight-rowGap)/2+4, html.EscapeString(g.row.Name))
		for k, s := range g.bars {
			if s.Median <= 0 {
				continue
			}
			y, end := top+k*barHeight, axis.at(s.Median)
			opacity := 1 - 0.6*float64(k)/float64(max(1, len(g.bars)-1))
			fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d" fill-opacity="%.2f"><title>%s, %s: %s %s (rounds: %s to %s)</title></rect>`,
				g.row.Kind, labelEdge, y, end-labelEdge, barHeight-1, opacity,
				html.EscapeString(g.row.Name), html.EscapeString(r.Plot[k]), Number(s.Median), html.EscapeString(figure), Number(s.Min), Number(s.Max))
			fmt.Fprintf(&b, `<text class="value" x="%.1f" y="%d">%s</text>`, end+4, y+barHeight-1, Number(s.Median))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// logAxis maps values to pixels.
type logAxis struct {
	low, high float64 // exponents of ten at both ends
	ticks     []float64
}

func newLogAxis(low, high float64) logAxis {
	a := logAxis{low: math.Floor(math.Log10(low)), high: math.Ceil(math.Log10(high))}
	if a.low == math.Log10(low) {
		a.low-- // the smallest bar must have a visible length
	}
	a.high = max(a.high, a.low+1)
	for e := a.low; e <= a.high; e++ {
		a.ticks = append(a.ticks, math.Pow(10, e))
	}
	return a
}

func (a logAxis) at(v float64) float64 {
	return labelEdge + (math.Log10(v)-a.low)/(a.high-a.low)*(rightEdge-labelEdge)
}

// powerLabel formats a power of ten for the axis.
func powerLabel(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%gG", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}
