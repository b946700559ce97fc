package admin

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed web
var web embed.FS

// dashboard serves the files under web, as they are.
func dashboard() http.Handler {
	files, err := fs.Sub(web, "web")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	next := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store") // after an upgrade the browser must not use the old scripts
		next.ServeHTTP(w, r)
	})
}
