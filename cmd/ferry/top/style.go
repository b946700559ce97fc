package top

// style is how a text looks. The colors are those of the terminal's palette, so that they suit its background.
type style string

// The styles, as parameters of SGR (ECMA-48, section 8.3.117).
const (
	plain   style = ""
	dim     style = "2"
	bold    style = "1"
	good    style = "32"
	warn    style = "33"
	bad     style = "31"
	accent  style = "36"
	current style = "1;7" // bold and reversed: visible without color, too
)

// paint returns text in a style.
func paint(s style, text string) string {
	if s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[m"
}
