package sarif

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/report/format"
)

// repositoryBases are the names that tools use for the base of the repository.
var repositoryBases = []string{"%SRCROOT%", "SRCROOT", "ROOTPATH", "REPOROOT", "PROJECTROOT", "%PROJECTROOT%"}

// findRoots adds the folders of the repository. These are the bases with one of the usual names, or
// else all absolute bases, and the working directories.
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

// maxBases is the maximum nesting of bases, which may be cyclic.
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

// sarifFileKey is the location of a file in a result, and sarifPath its resolved path.
type (
	sarifFileKey struct {
		uri, base string
		index     int
	}
	sarifPath struct {
		path string
		err  error
	}
)

// Path returns the repository path of an artifact. Paths are cached, because many short references
// may refer to one long path.
func (r *sarifRun) Path(a sarifArtifact) (string, error) {
	key := sarifFileKey{string(a.URI), string(a.Base), -1}
	if a.URI == "" && a.Index != nil {
		key.index = int(*a.Index)
	}
	known, ok := r.paths[key]
	if !ok {
		known.path, known.err = r.resolve(a)
		if len(r.paths) >= format.MaxPaths || r.paths == nil {
			r.paths = map[sarifFileKey]sarifPath{}
		}
		r.paths[key] = known
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

// imageInPaths returns the path under which Trivy's SARIF lists packages of the operating system.
// It is the image without its registry, with the prefix library for a name of one segment.
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
