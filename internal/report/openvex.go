package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt"
)

// openVEX gathers an OpenVEX document, of 0.2.0 or of 0.0.x, where names stand
// in place of objects.
type openVEX struct {
	redoubt.VEXDocument
	context text
	limit   int // of what is told
	told    int // products and subcomponents
	refused []redoubt.Refusal
}

// openVEXStatement is one of statements.
type openVEXStatement struct {
	Vulnerability openVEXVulnerability `json:"vulnerability"`
	Timestamp     text                 `json:"timestamp"`
	LastUpdated   text                 `json:"last_updated"`
	Products      []openVEXProduct     `json:"products"`
	Subcomponents []openVEXComponent   `json:"subcomponents"` // of 0.0.x: of all products
	Status        text                 `json:"status"`
	StatusNotes   text                 `json:"status_notes"`
	Justification text                 `json:"justification"`
	ImpactText    text                 `json:"impact_statement"`
	ActionText    text                 `json:"action_statement"`
}

// openVEXVulnerability is an object, or its name.
type openVEXVulnerability struct {
	ID      text  `json:"@id"`
	Name    text  `json:"name"`
	Aliases texts `json:"aliases"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *openVEXVulnerability) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*v = openVEXVulnerability{Name: text(unquote(b))}
		return nil
	}
	type plain openVEXVulnerability
	loosely(b, (*plain)(v))
	return nil
}

// openVEXComponent is a subcomponent: an object, or its name.
type openVEXComponent struct {
	ID          text `json:"@id"`
	Identifiers struct {
		PURL text `json:"purl"`
	} `json:"identifiers"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *openVEXComponent) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*c = openVEXComponent{ID: text(unquote(b))}
		return nil
	}
	type plain openVEXComponent
	loosely(b, (*plain)(c))
	return nil
}

func (c *openVEXComponent) names() []string {
	return texts{string(c.Identifiers.PURL), string(c.ID)}.names()
}

// pkg is the package that a component is.
func (c *openVEXComponent) pkg() (redoubt.VEXPackage, bool) {
	for _, name := range c.names() {
		if pkg, ok := vexPackage(name); ok {
			return pkg, true
		}
	}
	return redoubt.VEXPackage{}, false
}

// openVEXProduct is a component with others inside.
type openVEXProduct struct {
	component     openVEXComponent
	subcomponents []openVEXComponent
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *openVEXProduct) UnmarshalJSON(b []byte) error {
	var inside struct {
		Subcomponents []openVEXComponent `json:"subcomponents"`
	}
	if len(b) > 0 && b[0] == '{' {
		loosely(b, &inside)
	}
	p.subcomponents = inside.Subcomponents
	return p.component.UnmarshalJSON(b)
}

// readOpenVEX reads an OpenVEX document, statement by statement.
func readOpenVEX(in *input, o Options) ([]*redoubt.Report, error) {
	d := openVEX{VEXDocument: redoubt.VEXDocument{Format: "OpenVEX"}, limit: o.Limits.Items}
	var timestamp, updated, version text
	fields := map[string]*text{"@context": &d.context, "timestamp": &timestamp, "last_updated": &updated, "version": &version}
	w := in.walker()
	err := w.object("", func(name string) error {
		var other text
		switch {
		case name == "statements":
			return w.array(name, d.element(w))
		case name == "@id" || name == "author":
			_, err := w.decode(name, &other)
			if name == "author" {
				d.Author = other.name()
			} else {
				d.Name = other.name()
			}
			return err
		case fields[name] != nil:
			_, err := w.decode(name, fields[name])
			return err
		}
		return w.skip(name)
	})
	if err != nil {
		return nil, err
	}
	if err := w.end(); err != nil {
		return nil, err
	}
	if !strings.Contains(string(d.context), "openvex") {
		return nil, errors.New("it is no OpenVEX document: @context does not name openvex.dev/ns")
	}
	d.IssuedAt = vexTime(string(updated), string(timestamp))
	if n, err := strconv.ParseInt(version.name(), 10, 64); err == nil && n > 0 {
		d.Version = min(n, math.MaxInt32)
	}
	sole(d.Statements)
	return []*redoubt.Report{vexReport(o, d.VEXDocument, d.refused)}, nil
}

// element reads one statement.
func (d *openVEX) element(w *walker) func(item string) error {
	return func(item string) error {
		var s openVEXStatement
		misfit, err := w.decode(item, &s)
		if err != nil {
			return err
		}
		if misfit == "" {
			misfit = d.take(item, &s)
		}
		if misfit != "" {
			d.refuse(item, misfit)
		}
		if d.told > d.limit {
			return w.fault(item, tooMany("products and subcomponents of statements", d.limit))
		}
		return nil
	}
}

func (d *openVEX) refuse(item, reason string) {
	d.refused = append(d.refused, redoubt.Refusal{Item: item, Reason: cut(reason, maxName)})
}

// openVEXStatuses are the statuses that OpenVEX has.
var openVEXStatuses = []redoubt.VEXStatus{redoubt.VEXNotAffected, redoubt.VEXFixed, redoubt.VEXAffected, redoubt.VEXUnderInvestigation}

// take adds what a statement says of each of its products, or tells why it
// cannot.
func (d *openVEX) take(item string, v *openVEXStatement) (misfit string) {
	s := redoubt.VEXStatement{Names: vexNames(append([]string{string(v.Vulnerability.Name)}, v.Vulnerability.Aliases...)...)}
	if len(s.Names) == 0 { // where only an address names it, the name is at its end
		s.Names = vexNames(base(v.Vulnerability.ID.name()))
	}
	s.Status, _ = redoubt.ParseVEXStatus(v.Status.name())
	s.At = vexTime(string(v.LastUpdated), string(v.Timestamp))
	switch {
	case len(s.Names) == 0 || s.Names[0] == ".":
		return "it names no vulnerability"
	case !slices.Contains(openVEXStatuses, s.Status):
		return fmt.Sprintf("its status is %.40q; it must be not_affected, affected, fixed or under_investigation", v.Status.name())
	case len(v.Products) == 0:
		return "it names no product"
	case v.Justification != "":
		if openVEX, _, ok := redoubt.VEXJustification(v.Justification.name()); !ok || openVEX != v.Justification.name() {
			return fmt.Sprintf("its justification is %.60q, which OpenVEX does not have", v.Justification.name())
		}
	case s.Status == redoubt.VEXNotAffected && v.ImpactText.name() == "":
		return "it says not_affected without a justification or an impact_statement"
	}
	if s.Status == redoubt.VEXNotAffected {
		s.Justification = v.Justification.name()
	}
	d.explain(&s, v)
	packages := s
	for i := range v.Products {
		p := &v.Products[i].component
		inside := append(slices.Clone(v.Products[i].subcomponents), v.Subcomponents...)
		if d.told += 1 + len(inside); d.told > d.limit {
			return ""
		}
		place, name := fmt.Sprintf("%s.products[%d]", item, i), p.names()
		one, isPackage := p.pkg()
		switch {
		case len(name) == 0:
			d.refuse(place, "it has neither an @id nor a package URL; hashes and CPEs alone are not understood")
		case len(inside) > 0:
			d.inside(place, s, name, inside)
		case isPackage:
			packages.Packages = append(packages.Packages, one)
		default:
			whole := s
			whole.Product = name
			d.Statements = append(d.Statements, whole)
		}
	}
	if len(packages.Packages) > 0 {
		d.Statements = append(d.Statements, packages)
	}
	return ""
}

// inside adds what a statement says of packages inside of a product.
func (d *openVEX) inside(place string, s redoubt.VEXStatement, product []string, subcomponents []openVEXComponent) {
	s.Product = product
	for i := range subcomponents {
		pkg, ok := subcomponents[i].pkg()
		if !ok {
			d.refuse(fmt.Sprintf("%s.subcomponents[%d]", place, i), "it has no package URL of a package")
			continue
		}
		s.Packages = append(s.Packages, pkg)
	}
	if len(s.Packages) > 0 {
		d.Statements = append(d.Statements, s)
	}
}

// explain adds the texts of a statement, or the triage that a Redoubt wrote.
func (d *openVEX) explain(s *redoubt.VEXStatement, v *openVEXStatement) {
	first := v.ImpactText
	if s.Status == redoubt.VEXAffected {
		first = v.ActionText
	}
	notes := strings.TrimSpace(v.StatusNotes.block())
	s.Detail = multiLine(strings.TrimSpace(strings.TrimSpace(first.block())+"\n"+notes), maxBlock)
	if m := ownNote.FindStringSubmatch(notes); m != nil {
		status := s.Status
		for _, own := range []redoubt.VEXStatus{status, ownStatuses[status]} {
			if s.Status = own; own != 0 && s.Own == nil {
				ownTriage(s, m[1], m[2], m[3])
			}
			if s.Own != nil {
				return
			}
		}
		s.Status = status
	}
}

// ownStatuses are those that OpenVEX has no word for, by what stands for them.
var ownStatuses = map[redoubt.VEXStatus]redoubt.VEXStatus{
	redoubt.VEXNotAffected: redoubt.VEXFalsePositive, redoubt.VEXAffected: redoubt.VEXUnclaimed,
}
