package topic

import (
	"errors"
	"fmt"
	"strings"
)

// MaxService is the longest name of a service, in bytes: a dot and a method follow it within 255.
const MaxService = 253

// AllServices is the pattern that matches every service.
const AllServices = "*"

// CheckService returns an error if name cannot be the name of a service, such as greeter.Greeter.
func CheckService(name string) error {
	ok := name != "" && len(name) <= MaxService
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' ||
			c == '.' && i > 0 && i < len(name)-1 && name[i-1] != '.'
	}
	if !ok {
		return fmt.Errorf("service %.80q: a name has letters, digits, - and _, in parts that dots separate, and at most %d bytes", name, MaxService)
	}
	return nil
}

// CheckServices returns an error if pattern does not match services: it is a name, a name and .*, or AllServices.
func CheckServices(pattern string) error {
	if pattern != AllServices && CheckService(strings.TrimSuffix(pattern, ".*")) != nil {
		return errors.New(`not a service: write one as greeter.Greeter, all below a name as greeter.*, and all as "*"`)
	}
	return nil
}

// Own is what the names of ferry's own services begin with. Only their whole name matches them, no wildcard.
const Own = "ferry."

// MatchService reports whether one of the patterns matches a service.
func MatchService(patterns []string, service string) bool {
	own := strings.HasPrefix(service, Own)
	for _, p := range patterns {
		if p == service {
			return true
		}
		if own {
			continue
		}
		if p == AllServices {
			return true
		}
		if below, ok := strings.CutSuffix(p, "*"); ok && len(service) > len(below) && strings.HasPrefix(service, below) {
			return true
		}
	}
	return false
}
