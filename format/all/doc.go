// Package all lists the formats of ferry.
//
// A node, or a program of your own, takes a set of formats as a value; this is the set that has everything. Whoever wants
// fewer writes the slice down instead of importing this package.
//
//	for _, f := range all.Formats() {
//		fmt.Println(f.Name())
//	}
package all
