package schema

import (
	"strings"

	"example.com/ferry/internal/levenshtein"
)

// maxListed is the largest number of names in one error.
const maxListed = 8

// suggestNames returns the names of m's fields that are similar to name. If there are none, it returns the first
// fields.
func (m *Message) suggestNames(name string) string {
	var alike, all []string
	for _, f := range m.Fields {
		if levenshtein.Distance(strings.ToLower(f.Name), strings.ToLower(name)) <= 1+len(name)/4 {
			alike = append(alike, f.Name)
		}
		all = append(all, f.Name)
	}
	switch {
	case len(all) == 0:
		return "it has none"
	case len(alike) > 0:
		return "is it " + listNames(alike, " or ") + "?"
	}
	return "it has " + listNames(all, ", ")
}

func listNames(names []string, between string) string {
	if len(names) > maxListed {
		names = append(names[:maxListed:maxListed], "more")
	}
	return strings.Join(names, between)
}
