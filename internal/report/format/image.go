package format

import (
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

var (
	imageTag = regexp.MustCompile(`:[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	imageID  = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// ImageName returns the name of a container image without its tag and digest, in the spelling of
// the report. It returns the id of an image unchanged, and "" for an invalid name.
func ImageName(reference string) string {
	if imageID.MatchString(reference) {
		return reference
	}
	name, _, _ := strings.Cut(read.Text(reference).Name(), "@")
	name = imageTag.ReplaceAllString(name, "") // the port of a registry is followed by a slash
	var anywhere Checkout
	name, err := anywhere.Path(strings.TrimLeft(name, "/"))
	if err != nil {
		return ""
	}
	return name
}

// imageScheme matches references with a scheme of Grype and syft.
var imageScheme = regexp.MustCompile(
	`^(docker|podman|containerd|registry|docker-archive|oci-archive|oci-dir|oci-registry|singularity):(.*[:/].*)$`,
)

// ImageOfInput returns ImageName of Grype's input, which may begin with a scheme.
func ImageOfInput(input string) string {
	if m := imageScheme.FindStringSubmatch(input); m != nil {
		input = m[2]
	}
	return ImageName(input)
}

// InImage returns the path of a file in an image, in the notation of docker cp.
func InImage(image, file string) string { return image + ":/" + strings.TrimLeft(file, "/") }

// ScopeToImage sets the image as the location of all results of a report. Results in the report
// file itself are located in the image, and other paths become files of the image.
func ScopeToImage(rep *model.Report, image, reportFile string) {
	if image == "" {
		return
	}
	locate := func(file string) string {
		if file == reportFile {
			return image
		}
		return InImage(image, file)
	}
	rep.Image = image
	for i := range rep.Results {
		r := &rep.Results[i]
		r.Path = locate(r.Path)
		if r.Dependency != nil && r.Dependency.Lockfile != "" {
			r.Dependency.Lockfile = locate(r.Dependency.Lockfile)
		}
	}
}
