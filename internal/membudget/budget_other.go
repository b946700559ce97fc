//go:build !linux

package membudget

func resident() int64 { return 0 }

func available() int64 { return 0 }

func groupLimit() int64 { return 0 }
