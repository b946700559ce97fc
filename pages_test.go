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
