package sbom

import (
	"fmt"
	"io"
	"regexp"

	"github.com/redoubt/redoubt/internal/model"
)

var serialPattern = regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Write writes the document of a request and returns its media type. A request that Check rejects
// is a model.InvalidError. Other errors are those of w, or report that the content does not match
// the request.
func Write(w io.Writer, r model.SBOMRequest, c Content) (mediaType string, err error) {
	if err := Check(r); err != nil {
		return "", err
	}
	if !serialPattern.MatchString(c.Serial) {
		return "", fmt.Errorf("serial number %q of the document is not a urn:uuid", c.Serial)
	}
	if r.ProjectID != 0 && len(c.Projects) != 1 {
		return "", fmt.Errorf("the export of project %d got %d projects", r.ProjectID, len(c.Projects))
	}
	if r.Format == model.OpenVEX {
		return writeOpenVEX(w, r, c)
	}
	doc := build(c, r.ProjectID == 0)
	if r.Format == model.SPDX {
		return writeSPDX(w, r, c, doc)
	}
	return writeCycloneDX(w, r, c, doc)
}
