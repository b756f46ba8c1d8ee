package vex

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/package-url/packageurl-go"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// VexReport returns the report of a VEX document. A document without a name is named after its
// file.
func VexReport(o format.Options, d model.VEXDocument, refused model.Refusals) *model.Report {
	d.File = format.FileInRepository(o)
	if d.Name == "" {
		d.Name = "file " + d.File
	}
	return &model.Report{
		Tool: model.ToolVEX, Category: read.Text(o.Category).Name(), Products: model.Products(0).With(model.SCA),
		VEX: []model.VEXDocument{d}, Refusals: refused,
	}
}

// VexNames cleans the names of a vulnerability.
func VexNames(list ...string) []string {
	names := read.Texts(list).Names()
	for i := range names {
		names[i] = strings.ToUpper(names[i])
	}
	return read.Distinct(names)
}

// VexPackage returns the package of a package URL, named as in findings. It returns false for an
// invalid package URL, and for types that contain packages instead of being one.
func VexPackage(address string) (model.VEXPackage, bool) {
	if !strings.HasPrefix(address, "pkg:") {
		return model.VEXPackage{}, false
	}
	ecosystem, name, version, ok := purl.Parse(address)
	if !ok || slices.Contains(holders, ecosystem) {
		return model.VEXPackage{}, false
	}
	return VexPackageOf(ecosystem, name, version), true
}

// holders are the types of package URLs that contain packages: repositories, images, and the
// generic type.
var holders = []string{
	packageurl.TypeGithub, packageurl.TypeBitbucket, "gitlab",
	packageurl.TypeOCI, packageurl.TypeDocker, packageurl.TypeGeneric,
}

// VexPackageOf returns the package of a VEX statement by ecosystem, name and version.
func VexPackageOf(ecosystem, name, version string) model.VEXPackage {
	key := purl.VEXKey(ecosystem, read.Text(name).Name())
	return model.VEXPackage{Key: key, Version: purl.Version(key, read.Text(version).Name())}
}

// maxVEX is the maximum size of the statements of a document, in bytes. Each statement has a copy
// of names and texts that the document contains once, so that a small document could need much
// memory.
const maxVEX = 64 << 20

// Statements collects the statements of a document within the limit.
type Statements struct {
	List   []model.VEXStatement
	weight int
}

// Add adds a statement. It returns model.ErrTooLarge if the limit is exceeded.
func (l *Statements) Add(s model.VEXStatement) error {
	if l.weight += weightOf(&s); l.weight > maxVEX {
		return format.TooLarge("the content of the statements for all products and components", maxVEX)
	}
	l.List = append(l.List, s)
	return nil
}

// weightOf estimates the stored size of a statement, in bytes.
func weightOf(s *model.VEXStatement) int {
	n := len(s.Detail)
	if s.Own != nil {
		n += len(s.Own.Comment)
	}
	for _, name := range s.Names { // a statement is stored once per name
		n += 64 + len(name)
	}
	for _, name := range s.Product {
		n += 16 + len(name)
	}
	for _, p := range s.Packages {
		n += 16 + len(p.Key) + len(p.Version)
	}
	return n
}

// About returns the subject of a statement. It is unique among statements on one vulnerability.
func About(s *model.VEXStatement) string { return fmt.Sprintf("%q %q", s.Product, s.Packages) }

// Sole marks the statements of a document about only one product.
func Sole(statements []model.VEXStatement) {
	products := map[string]bool{}
	for i := range statements {
		if s := &statements[i]; len(s.Product) > 0 {
			products[withoutQualifiers(s.Product[0])] = true
		}
	}
	for i := range statements {
		statements[i].Sole = len(products) == 1 && len(statements[i].Product) > 0
	}
}

// withoutQualifiers removes the qualifiers of a package URL, so that all builds of a product are
// equal.
func withoutQualifiers(product string) string {
	if strings.HasPrefix(product, "pkg:") {
		product, _, _ = strings.Cut(product, "?")
	}
	return product
}

// ownNote matches a triage in the text form that Redoubt writes.
var ownNote = regexp.MustCompile(`^Redoubt triage: ([a-z]+)(?:, ([a-z_]+))?\.(?: ([\s\S]*))?$`)

// ownTriage parses a triage that Redoubt wrote. It is used only if Redoubt would write the same
// status for it, so that the text cannot contradict the statement.
func ownTriage(s *model.VEXStatement, state, reason, comment string) {
	var own model.VEXTriage
	var ok bool
	if own.State, ok = model.ParseTriageState(state); !ok {
		return
	}
	if own.Reason, ok = model.ParseTriageReason(reason); !ok && reason != "" ||
		(own.Reason != 0) != (own.State == model.TriageIgnored) {
		return
	}
	if own.Comment = read.MultiLine(comment, read.MaxBlock); len([]rune(own.Comment)) > model.MaxNote {
		return
	}
	made, ok := model.VEXOf(model.Triage{State: own.State, Reason: own.Reason, Comment: own.Comment})
	if !ok || made.Status != s.Status {
		return
	}
	s.Own, s.Justification, s.Detail = &own, made.Justification, made.Detail
}

// VexTime returns the first valid time.
func VexTime(list ...string) time.Time {
	for _, t := range list {
		if at := format.Time(t).Time(); !at.IsZero() {
			return at.Truncate(time.Microsecond)
		}
	}
	return time.Time{}
}
