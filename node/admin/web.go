package admin

import (
	"embed"
	"io/fs"
	"net/http"

	client "example.com/ferry/clients/web"
)

//go:embed web
var web embed.FS

// dashboard serves the files under web, as they are, and the client that they import.
func dashboard() http.Handler {
	files, err := fs.Sub(web, "web")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	next := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store") // after an upgrade the browser must not use the old scripts
		if r.URL.Path == "/ferry.js" {
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			_, _ = w.Write(client.Module) // the browser may have disconnected
			return
		}
		next.ServeHTTP(w, r)
	})
}
