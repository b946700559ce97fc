package schema

import "strings"

// maxListed is the largest number of names in one error.
const maxListed = 8

// suggestNames returns the names of m's fields that are similar to name. If there are none, it returns the first
// fields.
func (m *Message) suggestNames(name string) string {
	var alike, all []string
	for _, f := range m.Fields {
		if editDistance(strings.ToLower(f.Name), strings.ToLower(name)) <= 1+len(name)/4 {
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

// editDistance returns how many single bytes must be inserted, deleted or replaced to turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1) // distances between the processed part of a and each prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
