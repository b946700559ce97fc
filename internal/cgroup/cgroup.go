// Package cgroup finds the files of the process's control groups on Linux, in versions 1 and 2.
//
//	for _, file := range cgroup.Files("/", "memory", "memory.max", "memory.limit_in_bytes") {
package cgroup

import (
	"os"
	"path"
	"strings"
)

// Files returns the paths at which a limit of the process may stand: in its own group and in each group above, whose limits hold too. root
// stands before /proc and /sys. controller is that of version 1, second the file of version 2 and first that of version 1; an empty name
// leaves its version out. The files need not exist. In a container the path of the group may not exist below root, because the container
// sees its own group as the root.
func Files(root, controller, second, first string) []string {
	b, err := os.ReadFile(path.Join(root, "/proc/self/cgroup"))
	if err != nil {
		return nil
	}
	return Below(path.Join(root, "/sys/fs/cgroup"), string(b), controller, second, first)
}

// Below is Files for the text of /proc/self/cgroup: lines of hierarchy:controllers:path, see cgroups(7). mounted is the folder of the
// control groups.
func Below(mounted, groups, controller, second, first string) []string {
	var all []string
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		dir, file := mounted, second
		switch {
		case parts[1] == "": // version 2
		case strings.Contains(","+parts[1]+",", ","+controller+","):
			dir, file = path.Join(mounted, controller), first
		default:
			continue
		}
		if file == "" {
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			all = append(all, path.Join(dir, group, file))
			if group == "/" {
				break
			}
		}
	}
	return all
}
