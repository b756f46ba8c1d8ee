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
	"github.com/redoubt/redoubt/internal/report/read"

	"github.com/redoubt/redoubt/internal/report/format"
)

// VexReport makes a report of a document that stands alone. A document that
// does not name itself goes by its file.
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

// VexPackage names the package of a package URL as findings do. It is false for
// what is none, and for what is no package but holds some.
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

// holders are types of package URLs of what holds packages: repositories,
// images and whatever has no registry.
var holders = []string{
	packageurl.TypeGithub, packageurl.TypeBitbucket, "gitlab",
	packageurl.TypeOCI, packageurl.TypeDocker, packageurl.TypeGeneric,
}

// VexPackageOf returns the package of a VEX statement by ecosystem, name and version.
func VexPackageOf(ecosystem, name, version string) model.VEXPackage {
	key := purl.VEXKey(ecosystem, read.Text(name).Name())
	return model.VEXPackage{Key: key, Version: purl.Version(key, read.Text(version).Name())}
}

// maxVEX is how much the statements of a document may weigh, in bytes. A few
// bytes of a document ask for a statement, with all the names and the text that
// stand there once: without a limit a small document is a large one in memory.
const maxVEX = 64 << 20

// Statements gathers those of a document while they are light enough.
type Statements struct {
	List   []model.VEXStatement
	weight int
}

// Add returns model.ErrTooLarge for a statement that is too much.
func (l *Statements) Add(s model.VEXStatement) error {
	if l.weight += weightOf(&s); l.weight > maxVEX {
		return format.TooLarge("what the statements of the document say, told of each product and component,", maxVEX)
	}
	l.List = append(l.List, s)
	return nil
}

// weightOf is about what a statement takes when it is written out.
func weightOf(s *model.VEXStatement) int {
	n := len(s.Detail)
	if s.Own != nil {
		n += len(s.Own.Comment)
	}
	for _, name := range s.Names { // by which it is stored again
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

// About tells statements of one vulnerability apart by what they are about.
func About(s *model.VEXStatement) string { return fmt.Sprintf("%q %q", s.Product, s.Packages) }

// Sole marks the statements of a document that speaks of one product only.
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

// withoutQualifiers makes one of the package URLs of a product's builds.
func withoutQualifiers(product string) string {
	if strings.HasPrefix(product, "pkg:") {
		product, _, _ = strings.Cut(product, "?")
	}
	return product
}

// ownNote is how a Redoubt tells a triage in text.
var ownNote = regexp.MustCompile(`^Redoubt triage: ([a-z]+)(?:, ([a-z_]+))?\.(?: ([\s\S]*))?$`)

// ownTriage reads a triage that a Redoubt wrote, from its words. It counts only
// where the statement is the one that Redoubt makes of it, so that nobody hides
// one behind another.
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

// VexTime reads the first of some times that is one.
func VexTime(list ...string) time.Time {
	for _, t := range list {
		if at := format.Time(t).Time(); !at.IsZero() {
			return at.Truncate(time.Microsecond)
		}
	}
	return time.Time{}
}
