//go:build !proof

package enginetest

const manyTags = 100_000
