package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/ferry/internal/needs"
)

// TestSite follows each link of the site, and looks at the pages of docs in a browser as wide as a phone, from files.
func TestSite(t *testing.T) {
	t.Parallel()
	s := site{root: os.DirFS("../../.."), out: t.TempDir(), names: []string{"README.md"}}
	if s.make(); s.err != nil {
		t.Fatal(s.err)
	}
	pages := map[string]string{}
	err := filepath.WalkDir(s.out, func(file string, _ fs.DirEntry, err error) error {
		if filepath.Ext(file) != ".html" {
			return err
		}
		text, err := os.ReadFile(file)
		pages[file] = string(text)
		return err
	})
	if err != nil || len(pages) != len(s.names) {
		t.Fatalf("%d pages of %d, %v", len(pages), len(s.names), err)
	}
	for _, found := range s.index {
		if file, anchor, _ := strings.Cut(found.URL, "#"); !strings.Contains(pages[filepath.Join(s.out, file)], ` id="`+anchor+`"`) {
			t.Errorf("the search leads to %s, which does not exist", found.URL)
		}
	}
	for file, text := range pages {
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"#]*)(?:#([^"]*))?"`).FindAllStringSubmatch(text, -1) {
			target := filepath.Join(filepath.Dir(file), m[1])
			if m[1] == "" {
				target = file
			}
			if strings.Contains(m[1], ":") {
				continue // another site
			}
			if _, err := os.Stat(target); err != nil && target != filepath.Join(s.out, "index.js") {
				t.Errorf("%s: %v", file, err)
			} else if m[2] != "" && !strings.Contains(pages[target], ` id="`+m[2]+`"`) {
				t.Errorf("%s: %s has no %s", file, target, m[2])
			}
		}
	}

	program := needs.Program(t, "chromium")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatal(err)
		}
	}
	do(chromedp.EmulateViewport(375, 800))
	for file := range pages {
		if filepath.Dir(file) != filepath.Join(s.out, "docs") {
			continue
		}
		do(chromedp.Navigate("file://" + file))
		if width, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth`)); err != nil || width > 375 {
			t.Errorf("%s is %d pixels wide, %v", file, width, err)
		}
	}
	do(chromedp.Navigate("file://"+filepath.Join(s.out, "docs", "why", "README.html")), chromedp.SendKeys("input", "dead lett"), chromedp.WaitVisible("#results a"))
	first, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector("#results a").href`))
	if want := "file://" + filepath.Join(s.out, "docs", "streams.html#dead-letters"); err != nil || first != want {
		t.Errorf("the search finds %s, %v, want %s", first, err, want)
	}
}
