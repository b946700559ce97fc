// Package startmemory gives memory back to the system that only the start of a program has used.
//
//	startmemory.Release() // once the program serves
package startmemory
