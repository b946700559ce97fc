//go:build !linux

package membudget

func resident() int64 { return 0 }

func available(string) int64 { return 0 }

func groupLimit(string) int64 { return 0 }
