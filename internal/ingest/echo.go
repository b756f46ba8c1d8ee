package ingest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/purl"
)

// echo is a sighting in a bill of materials that Redoubt wrote, which says again
// what a finding of another source says: it makes no second one (semantics §15).
type echo struct {
	id redoubt.Identity
	of redoubt.Subject
}

// affectedPackage is a package version in a lockfile, in the spelling in which
// all spellings of it are equal.
type affectedPackage struct{ lockfile, key, version string }

func affectedBy(s *redoubt.Subject) affectedPackage {
	key := purl.Key(s.Ecosystem, s.Package)
	return affectedPackage{s.Lockfile, key, purl.Version(key, s.Version)}
}

// repeatsOurs reports whether the upload is a bill of materials of ours.
func (a *application) repeatsOurs() bool {
	return canonicalTool(a.upload.Report.Tool) == redoubt.SBOMTool
}

// separateEchoes takes the echoes out of the sightings of a bill of materials of
// ours, and notes them in the summary. All others' are what their scanner saw itself.
func (a *application) separateEchoes(ctx context.Context, sightings []Sighting) (rest []Sighting, echoes []echo, err error) {
	if !a.repeatsOurs() || len(sightings) == 0 {
		return sightings, nil, nil
	}
	lists, err := a.s.Subjects(ctx, []redoubt.ProjectRef{{ProjectID: a.project.ID, Ref: a.scan.Ref}})
	if err != nil {
		return nil, nil, err
	}
	subjects := lists[0]
	by := map[affectedPackage][]redoubt.Subject{}
	for i := range subjects {
		at := affectedBy(&subjects[i])
		by[at] = append(by[at], subjects[i])
	}
	groups, err := a.groupsOf(ctx, sightings, by)
	if err != nil {
		return nil, nil, err
	}
	for i := range sightings {
		said := saidBy(&sightings[i])
		if said == nil {
			rest = append(rest, sightings[i])
			continue
		}
		if of := a.original(said, by[affectedBy(said)], groups); of != nil {
			echoes = append(echoes, echo{sightings[i].Finding.Identity, *of})
			a.sum.Echoes = append(a.sum.Echoes, sightings[i].Finding.Identity)
			continue
		}
		rest = append(rest, sightings[i])
	}
	return rest, echoes, nil
}

// saidBy is what a sighting is about, with its rule; nil for what is no dependency.
func saidBy(s *Sighting) *redoubt.Subject {
	said := subjectOf(s.Result)
	if said != nil {
		said.Rule = s.Finding.RuleName
	}
	return said
}

// original finds whom a sighting echoes: a live finding of another source, of the
// same name sooner than of an alias. One that was fixed after the document was written
// is echoed too, unless the document's own source has the finding still: what
// somebody fixed since does not come back by an older document.
func (a *application) original(said *redoubt.Subject, subjects []redoubt.Subject, groups map[string]int64) *redoubt.Subject {
	var now, alias, since *redoubt.Subject
	own := false
	for i := range subjects {
		s := &subjects[i]
		same := vulnerabilityName(s) == vulnerabilityName(said)
		switch {
		case !same && (groupOf(s, groups) == 0 || groupOf(s, groups) != groupOf(said, groups)):
		case s.Source == a.scan.Source:
			own = own || live(s.State)
		case live(s.State) && same:
			now = cmp.Or(now, s)
		case live(s.State):
			alias = cmp.Or(alias, s)
		case s.State == redoubt.Fixed && s.ChangedAt.After(a.scan.StartedAt):
			since = cmp.Or(since, s)
		}
	}
	if own {
		since = nil
	}
	return cmp.Or(now, alias, since)
}

// vulnerabilityName is what exports call it: its rule's name where there is no other.
func vulnerabilityName(s *redoubt.Subject) string {
	return strings.ToUpper(cmp.Or(s.Vulnerability, s.Rule))
}

func groupOf(s *redoubt.Subject, groups map[string]int64) int64 {
	return cmp.Or(s.Group, groups[vulnerabilityName(s)])
}

// groupsOf finds the groups of advisories by the names of what sightings and
// findings of the same packages are about.
func (a *application) groupsOf(ctx context.Context, sightings []Sighting, by map[affectedPackage][]redoubt.Subject) (map[string]int64, error) {
	names := map[string]bool{}
	for i := range sightings {
		said := saidBy(&sightings[i])
		if said == nil {
			continue
		}
		subjects := by[affectedBy(said)]
		for k := range subjects {
			names[vulnerabilityName(&subjects[k])], names[vulnerabilityName(said)] = true, true
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	return a.s.AdvisoryGroupsNamed(ctx, slices.Sorted(maps.Keys(names)))
}

// echoesByIdentity has what each echo is of.
func echoesByIdentity(echoes []echo) map[redoubt.Identity]redoubt.Subject {
	out := make(map[redoubt.Identity]redoubt.Subject, len(echoes))
	for _, e := range echoes {
		out[e.id] = e.of
	}
	return out
}

// uniteEchoes puts each echo into the lineage of what it echoes, so that what people
// decided about either holds for both.
func (p *planner) uniteEchoes(stored Stored) {
	rows := make(map[redoubt.Identity]int64, len(stored.Findings))
	for i := range stored.Findings {
		rows[stored.Findings[i].Identity] = stored.Findings[i].LineageID
	}
	for _, e := range stored.echoes {
		switch lineage := cmp.Or(rows[e.id], p.lineages.of(e.id)); lineage {
		case 0:
			p.changes.Links = append(p.changes.Links, redoubt.IdentityLink{Identity: e.id, LineageID: e.of.LineageID})
		default:
			p.lineages.unite(lineage, e.of.LineageID)
		}
	}
}

// explainEchoes tells of findings that were removed as echoes of what, and of those what
// they took in.
func explainEchoes(events []redoubt.FindingEvent, rows []redoubt.Finding, echoes []echo) (_ []redoubt.FindingEvent, err error) {
	if len(echoes) == 0 {
		return events, nil
	}
	of, merged := echoesByIdentity(echoes), map[int64]redoubt.Subject{}
	for i := range rows {
		if by, is := of[rows[i].Identity]; is {
			merged[rows[i].ID] = by
		}
	}
	for i := range events {
		e := &events[i]
		if by, is := merged[e.FindingID]; is && e.Kind == redoubt.EventRemoved && e.Detail == "" && err == nil {
			e.Detail, err = toJSON(mergedInto(by))
		}
	}
	if err != nil {
		return nil, err
	}
	return withSurvivors(events)
}
