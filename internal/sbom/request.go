package sbom

import (
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Format is a document format that Write supports.
type Format struct {
	Name     model.SBOMFormat
	Versions []string // oldest first, such as 1.5
	XML      bool     // whether XML is supported in addition to JSON
}

// Formats returns the supported formats (docs/reference/sbom.md).
func Formats() []Format {
	return []Format{
		{Name: model.CycloneDX, Versions: []string{"1.4", "1.5", "1.6"}, XML: true},
		{Name: model.SPDX, Versions: []string{"2.3"}},
		{Name: model.OpenVEX, Versions: []string{"0.2.0"}},
	}
}

// ComponentTypes returns the valid types of the described software, in CycloneDX's words.
func ComponentTypes() []string {
	return []string{
		"application", "framework", "library", "container", "platform", "operating-system", "device",
		"device-driver", "firmware", "file", "machine-learning-model", "data",
	}
}

// Check validates a request: version, output format, component type and supplier. It returns all
// errors in one model.InvalidError, with the locations in the request body of the API.
func Check(r model.SBOMRequest) error {
	var faults []model.FieldError
	fault := func(location, message string, value any) {
		faults = append(faults, model.FieldError{Location: location, Message: message, Value: value})
	}
	checkFormat(r, fault)
	if !slices.Contains(ComponentTypes(), r.ComponentType) {
		fault("body.metadataComponentType", "must be one of "+strings.Join(ComponentTypes(), ", "), r.ComponentType)
	}
	if r.Supplier.URL != "" && webAddress(r.Supplier.URL) == "" {
		fault("body.metadataSupplier.url", "must be an absolute http or https URL", r.Supplier.URL)
	}
	if email := r.Supplier.Contact.Email; email != "" && !isEmail(email) {
		fault("body.metadataSupplier.contact.email", "must be an e-mail address, such as jane@example.com", email)
	}
	if len(faults) > 0 {
		return &model.InvalidError{Fields: faults}
	}
	return nil
}

func checkFormat(r model.SBOMRequest, fault func(location, message string, value any)) {
	formats := Formats()
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == r.Format })
	if i < 0 {
		names := model.Map(formats, func(f Format) string { return string(f.Name) })
		fault("body.formatVersion.format", "must be one of "+strings.Join(names, ", "), string(r.Format))
		return
	}
	if !slices.Contains(formats[i].Versions, r.Version) {
		fault("body.formatVersion.version", "must be one of "+strings.Join(formats[i].Versions, ", "), r.Version)
	}
	if r.XML && !formats[i].XML {
		fault("body.sbomOutputFormat", "this format supports only JSON: use SBOM_OUTPUT_FORMAT_JSON", nil)
	}
}

// isEmail reports whether s is a plain address, without a name, that the schemas accept.
func isEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Name == "" && a.Address == s && singleLine(s) == s && !strings.ContainsAny(s, "\" <>")
}

// webAddress returns the canonical form of an absolute http or https URL, or "".
func webAddress(s string) string {
	u, err := url.Parse(singleLine(s))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !plainHost(u.Host) {
		return ""
	}
	u.User = nil // passwords are removed
	u.RawQuery = escapeQuery(u.RawQuery)
	return u.String()
}

// plainHost reports whether a host consists of characters that a URI may contain unescaped.
func plainHost(host string) bool {
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool {
		return !isLetterOrDigit(r) && !strings.ContainsRune(".-_:", r)
	})
}

// escapeQuery escapes invalid characters and preserves existing escapes.
func escapeQuery(query string) string {
	var b strings.Builder
	for i := range len(query) {
		c := query[i]
		if isLetterOrDigit(rune(c)) || strings.IndexByte("-._~!$&'()*+,;=:@/?", c) >= 0 || escapeAt(query, i) {
			b.WriteByte(c)
			continue
		}
		b.WriteString(strings.ReplaceAll(url.QueryEscape(string([]byte{c})), "+", "%20"))
	}
	return b.String()
}

// escapeAt reports whether a percent-encoded byte begins at i.
func escapeAt(s string, i int) bool {
	return s[i] == '%' && i+2 < len(s) && isHex(s[i+1:i+3])
}
