package schema

import "strings"

// maxListed bounds how many names an error lists.
const maxListed = 8

// near says which fields m has instead of name: those that are spelled alike, else the first ones.
func (m *Message) near(name string) string {
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

// editDistance counts the bytes to insert, delete or replace to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1) // distances of the part of a so far to each start of b
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
