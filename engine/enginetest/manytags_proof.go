//go:build proof

package enginetest

const manyTags = 1_000_000
