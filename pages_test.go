package ferry_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDecisions holds the pages of docs/why to their form: at most 40 lines, a question and what would change the choice, and a line
// in the index.
func TestDecisions(t *testing.T) {
	const maxLines = 40
	files, err := filepath.Glob("docs/why/[0-9]*.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no pages in docs/why")
	}
	index := read(t, "docs/why/README.md")
	for _, file := range files {
		text, name := read(t, file), filepath.Base(file)
		if lines := strings.Count(text, "\n"); lines > maxLines {
			t.Errorf("%s has %d lines, want at most %d: measurements belong in bench/results", file, lines, maxLines)
		}
		heading, _, _ := strings.Cut(text, "\n")
		number, title, ok := strings.Cut(strings.TrimPrefix(heading, "# "), ": ")
		if !ok || !strings.HasPrefix(name, number+"-") {
			t.Errorf("%s: the first line is %q, want \"# NNN: title\" with the number of the file", file, heading)
			continue
		}
		for _, part := range []string{"**Question.**", "**What would change our mind.**"} {
			if !strings.Contains(text, "\n"+part) {
				t.Errorf("%s: no paragraph begins with %s", file, part)
			}
		}
		if line := "- [" + number + "](" + name + "): " + title; !strings.Contains(index, "\n"+line+"\n") {
			t.Errorf("docs/why/README.md has no line %q", line)
		}
	}
}

// TestLinks checks that what the pages link to exists, and the decisions that the code names.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^()\s]+)\)`)
	decision := regexp.MustCompile(`\bwhy/(\d{3})\b`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != ".", d.IsDir() && d.Name() == "node_modules":
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range decision.FindAllSubmatch(text, -1) {
			if pages, _ := filepath.Glob("docs/why/" + string(found[1]) + "-*.md"); len(pages) != 1 {
				t.Errorf("%s names docs/why/%s, which does not exist", path, found[1])
			}
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		for _, found := range link.FindAllSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(string(found[1]), "#")
			if strings.Contains(target, ":") {
				continue // another site
			}
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, found[1])
			} else if anchor != "" && filepath.Ext(file) == ".md" && !hasAnchor(read(t, file), anchor) {
				t.Errorf("%s links to %s: %s has no such heading", path, found[1], file)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMap checks ARCHITECTURE.md: each path that it names exists, each package has a folder in the code map, and it imports only
// folders above its own, or of its own room.
func TestMap(t *testing.T) {
	text := read(t, "ARCHITECTURE.md")
	for _, found := range regexp.MustCompile("`([a-z][a-zA-Z0-9_.*/-]*)`").FindAllStringSubmatch(text, -1) {
		path := found[1]
		if !strings.Contains(path, "/") && !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".txt") {
			continue // no path
		}
		if files, err := filepath.Glob(path); err != nil || len(files) == 0 {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", path)
		}
	}
	rows := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(text, -1) {
		rows[strings.TrimSuffix(row[1], "/")] = len(rows)
	}
	place := func(importPath string) (folder string, row int) {
		folder = strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
		for parent := folder; parent != "." && parent != ""; parent = filepath.Dir(parent) {
			if row, ok := rows[parent]; ok {
				return folder, row
			}
		}
		if folder == "" {
			return folder, rows["."]
		}
		return folder, -1
	}
	for path, p := range packages(t) {
		if !p.own() {
			continue
		}
		folder, row := place(path)
		if row < 0 {
			t.Errorf("%s has no row in the code map of ARCHITECTURE.md", folder)
			continue
		}
		room, _, _ := strings.Cut(folder, "/")
		for _, name := range p.Imports {
			imported, above := place(name)
			sameRoom := room != "internal" && strings.HasPrefix(imported, room+"/")
			if strings.HasPrefix(name, module) && above > row && !sameRoom {
				t.Errorf("%s imports %s, which stands below it in the code map of ARCHITECTURE.md", folder, imported)
			}
		}
	}
}

// TestFiles checks that the files that a doc.go names exist, below its folder or the root.
func TestFiles(t *testing.T) {
	file := regexp.MustCompile(`[a-z0-9_/*]*[a-z0-9_]\.go\b`)
	for _, doc := range docs(t) {
		_, note, found := strings.Cut(read(t, doc), "\n// Files: ")
		if !found {
			continue
		}
		dir := filepath.Dir(doc)
		for _, name := range file.FindAllString(note, -1) {
			here, _ := filepath.Glob(filepath.Join(dir, name))
			below, _ := filepath.Glob(filepath.Join(dir, "*", name))
			if _, err := os.Stat(name); err != nil && len(here)+len(below) == 0 {
				t.Errorf("%s names %s, which does not exist", doc, name)
			}
		}
	}
}

// docs returns the files that document packages.
func docs(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "doc.go" {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// hasAnchor reports whether a heading of page has the anchor by which GitHub links to it.
func hasAnchor(page, anchor string) bool {
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.Lines(page) {
		title := strings.TrimLeft(line, "#")
		if title == line {
			continue
		}
		slug := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return true
		}
	}
	return false
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
}
