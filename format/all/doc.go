// Package all lists the formats of ferry.
//
// A node takes its formats as a slice. Formats returns the slice with all of them. A program that needs fewer formats
// lists them itself and does not import this package.
//
//	for _, f := range all.Formats() {
//		fmt.Println(f.Name())
//	}
package all
