package sarif

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/report/format"
)

// repositoryBases are the names that tools give to the repository's folder.
var repositoryBases = []string{"%SRCROOT%", "SRCROOT", "ROOTPATH", "REPOROOT", "PROJECTROOT", "%PROJECTROOT%"}

// findRoots learns where the repository lay: from the base that has one of the
// usual names, else from all bases that are absolute, and from the folder that
// the tool ran in.
func (r *sarifRun) findRoots() {
	named := false
	for _, name := range repositoryBases {
		if folder := r.folder(name, 0); path.IsAbs(folder) {
			r.checkout.AddRoot(folder)
			named = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.bases)) {
		if folder := r.folder(name, 0); !named && path.IsAbs(folder) {
			r.checkout.AddRoot(folder)
		}
	}
	for _, v := range r.invocations {
		if folder, err := format.Slashed(string(v.Folder.URI), true); err == nil {
			r.checkout.AddRoot(folder)
		}
	}
}

// maxBases is how many bases may rest on each other; they may form a circle.
const maxBases = 10

// folder resolves a base to a folder: absolute, or relative to the repository.
func (r *sarifRun) folder(name string, depth int) string {
	base, ok := r.bases[name]
	if !ok || depth > maxBases {
		return ""
	}
	folder, err := format.Slashed(string(base.URI), true)
	if err != nil {
		return ""
	}
	if path.IsAbs(folder) || base.Base == "" {
		return folder
	}
	return path.Join(r.folder(string(base.Base), depth+1), folder)
}

// sarifPlace is where a file is, as results tell it, and sarifPath what that comes to.
type (
	sarifPlace struct {
		uri, base string
		index     int
	}
	sarifPath struct {
		path string
		err  error
	}
)

// Path returns a place as a path of the repository. Many results may name one place in
// a few bytes each, however long it is.
func (r *sarifRun) Path(a sarifArtifact) (string, error) {
	place := sarifPlace{string(a.URI), string(a.Base), -1}
	if a.URI == "" && a.Index != nil {
		place.index = int(*a.Index)
	}
	known, ok := r.paths[place]
	if !ok {
		known.path, known.err = r.resolve(a)
		if len(r.paths) >= format.MaxPaths || r.paths == nil {
			r.paths = map[sarifPlace]sarifPath{}
		}
		r.paths[place] = known
	}
	return known.path, known.err
}

func (r *sarifRun) resolve(a sarifArtifact) (string, error) {
	if a.URI == "" && a.Index != nil && int(*a.Index) < len(r.artifacts) {
		a = r.artifacts[*a.Index]
	}
	if a.URI == "" {
		return "", errors.New("it has no location with a file")
	}
	file, err := format.Slashed(string(a.URI), true)
	if err != nil {
		return "", err
	}
	if folder := r.folder(string(a.Base), 0); folder != "" && folder != "/" && !path.IsAbs(file) {
		file = strings.TrimSuffix(folder, "/") + "/" + file
	}
	return r.checkout.Path(file)
}

// imageInPaths returns the path under which Trivy's SARIF has packages of the operating
// system: the image without its registry, and library before a name of one segment.
func (r *sarifRun) imageInPaths() string {
	image := format.ImageName(string(r.properties.Image))
	registry, name, ok := strings.Cut(image, "/")
	switch {
	case !ok:
		return "library/" + image
	case registry == "localhost", strings.ContainsAny(registry, ".:"):
		return name
	}
	return image
}
