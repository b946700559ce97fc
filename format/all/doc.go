// Package all lists the formats of ferry.
//
// A node is configured with a slice of formats. Formats returns a slice of all formats. A program that needs fewer
// formats makes its own slice and does not import this package.
//
//	for _, f := range all.Formats() {
//		fmt.Println(f.Name())
//	}
package all
