//go:build !race

package tlslayer

const raceDetector = false
