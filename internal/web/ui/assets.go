package ui

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed assets/*.css assets/*.js assets/*.svg
var assetFiles embed.FS

// assets maps the static files to their addresses. Each address contains a hash of the content, so
// browsers can cache it indefinitely.
type assets struct {
	address map[string]string // by name: /assets/app.0123456789ab.css
	name    map[string]string // by the last element of the address
}

func newAssets() (*assets, error) {
	a := &assets{address: map[string]string{}, name: map[string]string{}}
	entries, err := fs.ReadDir(assetFiles, "assets")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := fs.ReadFile(assetFiles, "assets/"+e.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		ext := path.Ext(e.Name())
		hashed := strings.TrimSuffix(e.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		a.address[e.Name()], a.name[hashed] = "/assets/"+hashed, e.Name()
	}
	return a, nil
}

// serve writes an asset by its hashed name.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	name, ok := a.name[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeFileFS(w, r, assetFiles, "assets/"+name)
}
