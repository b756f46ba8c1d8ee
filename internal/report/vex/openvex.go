package vex

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// openVEX reads an OpenVEX document of version 0.2.0 or 0.0.x. In the latter, names replace
// objects.
type openVEX struct {
	model.VEXDocument
	context    read.Text
	limit      int // maximum number of products and subcomponents
	count      int // number of products and subcomponents
	statements Statements
	refused    model.Refusals
}

// openVEXStatement is an entry of statements.
type openVEXStatement struct {
	Vulnerability openVEXVulnerability `json:"vulnerability"`
	Timestamp     read.Text            `json:"timestamp"`
	LastUpdated   read.Text            `json:"last_updated"`
	Products      []openVEXProduct     `json:"products"`
	Subcomponents []openVEXComponent   `json:"subcomponents"` // 0.0.x: of all products
	Status        read.Text            `json:"status"`
	StatusNotes   read.Text            `json:"status_notes"`
	Justification read.Text            `json:"justification"`
	ImpactText    read.Text            `json:"impact_statement"`
	ActionText    read.Text            `json:"action_statement"`
}

// openVEXVulnerability is an object, or a name.
type openVEXVulnerability struct {
	ID      read.Text  `json:"@id"`
	Name    read.Text  `json:"name"`
	Aliases read.Texts `json:"aliases"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *openVEXVulnerability) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*v = openVEXVulnerability{Name: read.Text(read.Unquote(b))}
		return nil
	}
	type plain openVEXVulnerability
	read.Loosely(b, (*plain)(v))
	return nil
}

// openVEXComponent is a subcomponent: an object, or a name.
type openVEXComponent struct {
	ID          read.Text `json:"@id"`
	Identifiers struct {
		PURL read.Text `json:"purl"`
	} `json:"identifiers"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *openVEXComponent) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*c = openVEXComponent{ID: read.Text(read.Unquote(b))}
		return nil
	}
	type plain openVEXComponent
	read.Loosely(b, (*plain)(c))
	return nil
}

func (c *openVEXComponent) names() []string {
	return read.Texts{string(c.Identifiers.PURL), string(c.ID)}.Names()
}

// pkg returns the package of a component.
func (c *openVEXComponent) pkg() (model.VEXPackage, bool) {
	for _, name := range c.names() {
		if pkg, ok := VexPackage(name); ok {
			return pkg, true
		}
	}
	return model.VEXPackage{}, false
}

// openVEXProduct is a component with subcomponents.
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
		read.Loosely(b, &inside)
	}
	p.subcomponents = inside.Subcomponents
	return p.component.UnmarshalJSON(b)
}

// ReadOpenVEX reads an OpenVEX document, statement by statement.
func ReadOpenVEX(in *format.Input, o format.Options) ([]*model.Report, error) {
	d := openVEX{VEXDocument: model.VEXDocument{Format: "OpenVEX"}, limit: o.Limits.Items}
	var timestamp, updated, version read.Text
	fields := map[string]*read.Text{
		"@context":     &d.context,
		"timestamp":    &timestamp,
		"last_updated": &updated,
		"version":      &version,
	}
	w := in.Walker()
	err := w.Object("", func(name string) error {
		var other read.Text
		switch {
		case name == "statements":
			return w.Array(name, d.element(w))
		case name == "@id" || name == "author":
			_, err := w.Decode(name, &other)
			if name == "author" {
				d.Author = other.Name()
			} else {
				d.Name = other.Name()
			}
			return err
		case fields[name] != nil:
			_, err := w.Decode(name, fields[name])
			return err
		}
		return w.Skip(name)
	})
	if err != nil {
		return nil, err
	}
	if err := w.End(); err != nil {
		return nil, err
	}
	if !strings.Contains(string(d.context), "openvex") {
		return nil, errors.New("it is not an OpenVEX document: @context does not name openvex.dev/ns")
	}
	d.IssuedAt = VexTime(string(updated), string(timestamp))
	if n, err := strconv.ParseInt(version.Name(), 10, 64); err == nil && n > 0 {
		d.Version = min(n, math.MaxInt32)
	}
	d.Statements = d.statements.List
	Sole(d.Statements)
	return []*model.Report{VexReport(o, d.VEXDocument, d.refused)}, nil
}

// element returns a function that reads one statement.
func (d *openVEX) element(w *format.Walker) func(item string) error {
	return func(item string) error {
		var s openVEXStatement
		misfit, err := w.Decode(item, &s)
		if err != nil {
			return err
		}
		if misfit == "" {
			misfit, err = d.AddStatement(item, &s)
		}
		if misfit != "" {
			d.refuse(item, misfit)
		}
		return w.Fault(item, err)
	}
}

func (d *openVEX) refuse(item, reason string) {
	d.refused.Refuse(model.Refusal{Item: item, Reason: model.CutBytes(reason, read.MaxName)})
}

// openVEXStatuses are the statuses of OpenVEX.
var openVEXStatuses = []model.VEXStatus{
	model.VEXNotAffected, model.VEXFixed, model.VEXAffected, model.VEXUnderInvestigation,
}

// AddStatement adds the statements about each product, or returns why the entry is invalid. It returns an
// error if a limit is exceeded.
func (d *openVEX) AddStatement(item string, v *openVEXStatement) (misfit string, err error) {
	s := model.VEXStatement{Names: VexNames(append([]string{string(v.Vulnerability.Name)}, v.Vulnerability.Aliases...)...)}
	if len(s.Names) == 0 { // an @id without a name ends with the name
		s.Names = VexNames(read.Base(v.Vulnerability.ID.Name()))
	}
	s.Status, _ = model.ParseVEXStatus(v.Status.Name())
	s.At = VexTime(string(v.LastUpdated), string(v.Timestamp))
	switch {
	case len(s.Names) == 0 || s.Names[0] == ".":
		return "it has no vulnerability", nil
	case !slices.Contains(openVEXStatuses, s.Status):
		return fmt.Sprintf("its status is %q; it must be not_affected, affected, fixed or under_investigation",
			v.Status.Name()), nil
	case len(v.Products) == 0:
		return "it has no product", nil
	case v.Justification != "":
		if openVEX, _, ok := model.VEXJustification(v.Justification.Name()); !ok || openVEX != v.Justification.Name() {
			return fmt.Sprintf("its justification %q is not an OpenVEX justification", v.Justification.Name()), nil
		}
	case s.Status == model.VEXNotAffected && v.ImpactText.Name() == "":
		return "it has the status not_affected without a justification or an impact_statement", nil
	}
	if s.Status == model.VEXNotAffected {
		s.Justification = v.Justification.Name()
	}
	d.explain(&s, v)
	return "", d.products(item, s, v)
}

// products adds a statement for each product, and one for all products that are packages. It
// ignores duplicates.
func (d *openVEX) products(item string, s model.VEXStatement, v *openVEXStatement) error {
	packages, seen := s, map[string]bool{}
	for i := range v.Products {
		p := &v.Products[i].component
		if d.count += 1 + len(v.Products[i].subcomponents) + len(v.Subcomponents); d.count > d.limit {
			return format.TooMany("products and subcomponents of statements", d.limit)
		}
		location, one := fmt.Sprintf("%s.products[%d]", item, i), s
		one.Product = p.names()
		inside := append(slices.Clone(v.Products[i].subcomponents), v.Subcomponents...)
		pkg, isPackage := p.pkg()
		switch {
		case len(one.Product) == 0:
			d.refuse(location, "it has neither an @id nor a package URL; hashes and CPEs alone are not supported")
			continue
		case len(inside) > 0:
			if one.Packages = d.inside(location, inside); len(one.Packages) == 0 {
				continue
			}
		case isPackage:
			packages.Packages = append(packages.Packages, pkg)
			continue
		}
		if what := About(&one); !seen[what] {
			seen[what] = true
			if err := d.statements.Add(one); err != nil {
				return err
			}
		}
	}
	if packages.Packages = read.Distinct(packages.Packages); len(packages.Packages) > 0 {
		return d.statements.Add(packages)
	}
	return nil
}

// inside returns the packages among subcomponents.
func (d *openVEX) inside(location string, subcomponents []openVEXComponent) (list []model.VEXPackage) {
	for i := range subcomponents {
		pkg, ok := subcomponents[i].pkg()
		if !ok {
			d.refuse(fmt.Sprintf("%s.subcomponents[%d]", location, i), "it has no package URL of a package")
			continue
		}
		list = append(list, pkg)
	}
	return read.Distinct(list)
}

// explain adds the texts of a statement, or the triage if Redoubt wrote it.
func (d *openVEX) explain(s *model.VEXStatement, v *openVEXStatement) {
	first := v.ImpactText
	if s.Status == model.VEXAffected {
		first = v.ActionText
	}
	notes := strings.TrimSpace(v.StatusNotes.Block())
	s.Detail = read.MultiLine(strings.TrimSpace(strings.TrimSpace(first.Block())+"\n"+notes), read.MaxBlock)
	if m := ownNote.FindStringSubmatch(notes); m != nil {
		status := s.Status
		for _, own := range []model.VEXStatus{status, ownStatuses[status]} {
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

// ownStatuses maps statuses of OpenVEX to those of Redoubt that they replace.
var ownStatuses = map[model.VEXStatus]model.VEXStatus{
	model.VEXNotAffected: model.VEXFalsePositive, model.VEXAffected: model.VEXUnclaimed,
}
