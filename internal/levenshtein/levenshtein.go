// Package levenshtein says how alike two names are, for errors that suggest another name.
package levenshtein

// Distance returns how many single bytes must be inserted, deleted or replaced to turn a into b.
func Distance(a, b string) int {
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
