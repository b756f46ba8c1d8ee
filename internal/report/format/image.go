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

// ImageName returns the name of a container image without its tag and digest, and an
// empty string for what is no name. The name is spelled as the report spells it. The id of an
// image is its name where it has no other.
func ImageName(reference string) string {
	if imageID.MatchString(reference) {
		return reference
	}
	name, _, _ := strings.Cut(read.Text(reference).Name(), "@")
	name = imageTag.ReplaceAllString(name, "") // the port of a registry precedes a slash
	var anywhere Checkout
	name, err := anywhere.Path(strings.TrimLeft(name, "/"))
	if err != nil {
		return ""
	}
	return name
}

// imageScheme matches references with the scheme by which Grype and syft find an image.
var imageScheme = regexp.MustCompile(
	`^(docker|podman|containerd|registry|docker-archive|oci-archive|oci-dir|oci-registry|singularity):(.*[:/].*)$`,
)

// ImageOfInput is imageName of what users name to Grype, which may begin with a scheme.
func ImageOfInput(input string) string {
	if m := imageScheme.FindStringSubmatch(input); m != nil {
		input = m[2]
	}
	return ImageName(input)
}

// InImage returns the place of a file in an image, as docker cp writes it.
func InImage(image, file string) string { return image + ":/" + strings.TrimLeft(file, "/") }

// ScopeToImage makes the image the place of all results of a report: what lies in the report
// itself lies in the image, and files become files of the image.
func ScopeToImage(rep *model.Report, image, reportFile string) {
	if image == "" {
		return
	}
	place := func(file string) string {
		if file == reportFile {
			return image
		}
		return InImage(image, file)
	}
	rep.Image = image
	for i := range rep.Results {
		r := &rep.Results[i]
		r.Path = place(r.Path)
		if r.Dependency != nil && r.Dependency.Lockfile != "" {
			r.Dependency.Lockfile = place(r.Dependency.Lockfile)
		}
	}
}
