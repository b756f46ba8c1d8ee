package exceptions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
)

// propose stores a document as a proposal, which has no effect until it is accepted. It replaces an
// earlier proposal of the same name, regardless of versions, so that no version blocks later
// uploads. It omits refused statements. A proposal without new content removes the earlier one.
//
// Above the limit, the oldest proposals of the project are dropped, so that uploads do not fail. It
// returns a *model.InvalidError for a document with more statements or bytes than a project may
// propose.
func propose(ctx context.Context, s Store, d model.VEXDocument) (receipt model.VEXReceipt, err error) {
	receipt.Statements = len(d.Statements)
	was, err := storedOrNone(ctx, s, d)
	if err != nil {
		return receipt, fmt.Errorf("propose VEX document %q: %w", d.Name, err)
	}
	b, err := loadActiveStatements(ctx, s, d)
	if err == nil {
		receipt.Outcome, d.Statements, err = b.proposed(ctx, s, d)
	}
	if err == nil {
		d.ID, receipt.Dropped, err = storeProposal(ctx, s, receipt.Outcome, d, was)
	}
	if err != nil {
		return receipt, fmt.Errorf("propose VEX document %q: %w", d.Name, err)
	}
	if receipt.Outcome == model.VEXSame || receipt.Outcome == model.VEXOlder {
		d.ID = b.counting.ID
	}
	receipt.Document, receipt.Document.Statements = d, nil
	return receipt, nil
}

// storedOrNone returns the stored document of the same name, scope and kind, or one without an id.
func storedOrNone(ctx context.Context, s Store, d model.VEXDocument) (model.VEXDocument, error) {
	stored, err := s.StoredVEX(ctx, d)
	if errors.Is(err, model.ErrNotFound) {
		return model.VEXDocument{}, nil
	}
	return stored, err
}

// activeStatements contains the statements in force under a proposal's name.
type activeStatements struct {
	stored   model.VEXDocument // of its scope; without an id if there is none
	counting model.VEXDocument // stored, or otherwise the one for all refs
	ids      map[string]bool   // of all statements of both
}

func loadActiveStatements(ctx context.Context, s Store, d model.VEXDocument) (b activeStatements, err error) {
	d.Proposed = false
	if b.stored, err = storedOrNone(ctx, s, d); err != nil {
		return b, err
	}
	b.counting = b.stored
	b.ids = idsOf(b.stored.Statements)
	if d.Ref == "" {
		return b, nil
	}
	d.Ref = ""
	wide, err := storedOrNone(ctx, s, d)
	if b.stored.ID == 0 {
		b.counting = wide
	}
	for id := range idsOf(wide.Statements) {
		b.ids[id] = true
	}
	return b, err
}

func idsOf(list []model.VEXStatement) map[string]bool {
	ids := make(map[string]bool, len(list))
	for i := range list {
		ids[list[i].ID()] = true
	}
	return ids
}

// setID identifies a set of statements, regardless of order.
func setID(list []model.VEXStatement) string {
	ids := make([]string, 0, len(list))
	for i := range list {
		ids = append(ids, list[i].ID())
	}
	slices.Sort(ids)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(ids), " ")))
	return hex.EncodeToString(sum[:])
}

// proposed returns the outcome of a proposed document and its proposed statements.
func (b *activeStatements) proposed(
	ctx context.Context, s Store, d model.VEXDocument,
) (model.VEXOutcome, []model.VEXStatement, error) {
	switch {
	case len(d.Statements) == 0:
		return model.VEXSame, nil, nil
	case b.counting.ID != 0 && !newer(&d, &b.counting):
		return model.VEXOlder, nil, nil
	case len(d.Statements) > model.MaxVEXProposedStatements:
		return "", nil, model.Invalid("vex", "it has %d statements; a project can have %d proposed statements: "+
			"a user with the triager role must send it", len(d.Statements), model.MaxVEXProposedStatements)
	case d.Size() > model.MaxVEXProposedBytes:
		return "", nil, model.Invalid("vex", "its statements have %d bytes; those proposed of a project can have %d: "+
			"a user with the triager role must send it", d.Size(), model.MaxVEXProposedBytes)
	}
	return b.open(ctx, s, d)
}

// open returns the statements of a document that need a decision. It retains statements in force
// and removes refused ones. If all remaining ones are in force, the document may still withdraw
// others.
func (b *activeStatements) open(
	ctx context.Context, s Store, d model.VEXDocument,
) (model.VEXOutcome, []model.VEXStatement, error) {
	ids := make([]string, len(d.Statements))
	for i := range d.Statements {
		ids[i] = d.Statements[i].ID()
	}
	refused, err := s.RefusedVEX(ctx, d.ProjectID, ids)
	if err != nil {
		return "", nil, err
	}
	list, isNew := make([]model.VEXStatement, 0, len(ids)), false
	for i, id := range ids {
		if b.ids[id] || !refused[id] {
			list = append(list, d.Statements[i])
			isNew = isNew || !b.ids[id]
		}
	}
	switch {
	case len(list) == 0:
		return model.VEXRefused, nil, nil
	case isNew:
		return model.VEXProposed, list, nil
	case b.withdrawn(list) == 0:
		return model.VEXSame, nil, nil
	}
	listID := setID(list)
	if refused, err = s.RefusedVEX(ctx, d.ProjectID, []string{listID}); err == nil && refused[listID] {
		return model.VEXRefused, nil, nil
	}
	return model.VEXProposed, list, err
}

// withdrawn counts the statements in force in the same scope that a list lacks.
func (b *activeStatements) withdrawn(list []model.VEXStatement) (n int) {
	ids := idsOf(list)
	for id := range idsOf(b.stored.Statements) {
		if !ids[id] {
			n++
		}
	}
	return n
}

// storeProposal applies the outcome to the earlier proposal. It returns the proposal's id and the
// dropped proposals. Changed statements get a new id, so that accepting an id always accepts the
// reviewed content.
func storeProposal(
	ctx context.Context, s Store, o model.VEXOutcome, d, was model.VEXDocument,
) (id int64, dropped []int64, err error) {
	switch {
	case o == model.VEXOlder, o != model.VEXProposed && was.ID == 0:
		return 0, nil, nil
	case o != model.VEXProposed:
		return 0, nil, s.DeleteVEX(ctx, was)
	case was.ID != 0 && setID(was.Statements) == setID(d.Statements):
		if was.Version == d.Version && was.IssuedAt.Equal(d.IssuedAt) && was.Author == d.Author && was.Format == d.Format {
			return was.ID, nil, nil
		}
		id, err = s.SaveVEX(ctx, d, was)
		return id, nil, err
	case was.ID != 0:
		if err := s.DeleteVEX(ctx, was); err != nil {
			return 0, nil, err
		}
	}
	if dropped, err = evictOldestProposals(ctx, s, d); err != nil {
		return 0, nil, err
	}
	id, err = s.SaveVEX(ctx, d, model.VEXDocument{})
	return id, dropped, err
}

// evictOldestProposals drops the oldest proposals of a project until another one is within the
// limits. Then it does the same for the deployment; see evictAcrossProjects. It returns the dropped
// proposals of the project itself.
func evictOldestProposals(ctx context.Context, s Store, d model.VEXDocument) (dropped []int64, err error) {
	own, err := s.VEXProposals(ctx, d.ProjectID)
	if err != nil {
		return nil, err
	}
	statements, bytes := len(d.Statements), d.Size()
	for i := range own {
		statements, bytes = statements+own[i].Statements, bytes+own[i].Bytes
	}
	tooMuch := func() bool {
		return len(own) >= model.MaxVEXProposals || statements > model.MaxVEXProposedStatements ||
			bytes > model.MaxVEXProposedBytes
	}
	for ; len(own) > 0 && tooMuch(); own = own[1:] {
		statements, bytes = statements-own[0].Statements, bytes-own[0].Bytes
		if err := drop(ctx, s, own[0].ID); err != nil {
			return dropped, err
		}
		dropped = append(dropped, own[0].ID)
	}
	others, err := evictAcrossProjects(ctx, s, d)
	return append(dropped, others...), err
}

// evictAcrossProjects drops proposals of the projects with the most proposals until the deployment is
// within its limits. It returns the dropped proposals of the document's project.
func evictAcrossProjects(ctx context.Context, s Store, d model.VEXDocument) (dropped []int64, err error) {
	more := d.Size()
	for {
		n, err := s.CountVEX(ctx, true)
		if err != nil {
			return dropped, err
		}
		bytes, err := s.ProposedVEXBytes(ctx)
		tooLarge := bytes+more > model.MaxAllVEXProposedBytes
		if err != nil || n < model.MaxAllVEXProposals && !tooLarge {
			return dropped, err
		}
		most, err := s.MostVEXProposals(ctx, tooLarge)
		if err != nil || len(most) == 0 {
			return dropped, err
		}
		if most[0].ProjectID == d.ProjectID {
			dropped = append(dropped, most[0].ID)
		}
		if err := drop(ctx, s, most[0].ID); err != nil {
			return dropped, err
		}
	}
}

func drop(ctx context.Context, s Store, id int64) error {
	d, err := s.VEXDocument(ctx, id)
	if err != nil {
		return err
	}
	return s.DeleteVEX(ctx, d)
}

// dropProposal deletes the proposal with the name of a document now in force. It retains newer
// proposals with other statements.
func dropProposal(ctx context.Context, s Store, d model.VEXDocument) error {
	counts := d.Statements
	d.Proposed = true
	proposed, err := storedOrNone(ctx, s, d)
	if err != nil || proposed.ID == 0 || !newer(&d, &proposed) && setID(counts) != setID(proposed.Statements) {
		return err
	}
	return s.DeleteVEX(ctx, proposed)
}

// proposal returns a proposed document. It returns model.ErrNotFound if it is unknown and
// model.ErrConflict if it was already decided.
func proposal(ctx context.Context, s Store, id int64) (model.VEXDocument, error) {
	e, err := s.Exception(ctx, id)
	switch {
	case err != nil:
	case e.Document == nil:
		err = model.Invalid("exception", "%d is not a VEX document", id)
	case e.State != model.ExceptionRequested:
		err = fmt.Errorf("exception %d is already %s: %w", id, e.State, model.ErrConflict)
	}
	if err != nil {
		return model.VEXDocument{}, err
	}
	return s.VEXDocument(ctx, id)
}

// AcceptVEX puts a proposed document in force, with the accepting user as the sender. If ids of
// statements are given, only these are added to the document of the same name. It returns
// model.ErrNotFound for an unknown document, model.ErrConflict for a decided one, and a
// *model.InvalidError for an unknown statement.
func AcceptVEX(ctx context.Context, s Store, id int64, statements ...string) (model.VEXReceipt, error) {
	d, err := proposal(ctx, s, id)
	if err != nil {
		return model.VEXReceipt{}, err
	}
	if len(statements) > 0 {
		return acceptStatements(ctx, s, d, statements)
	}
	if err := s.DeleteVEX(ctx, d); err != nil {
		return model.VEXReceipt{}, err
	}
	d.Proposed = false
	return PutVEX(ctx, s, d)
}

func acceptStatements(
	ctx context.Context, s Store, d model.VEXDocument, ids []string,
) (receipt model.VEXReceipt, err error) {
	chosen, err := choose(d, ids)
	if err != nil {
		return receipt, err
	}
	b, err := loadActiveStatements(ctx, s, d)
	if err != nil {
		return receipt, err
	}
	counts := d
	counts.ID, counts.Proposed, counts.Statements = b.stored.ID, false, merged(b.stored.Statements, chosen)
	if b.stored.ID != 0 && !newer(&d, &b.stored) {
		counts.Version, counts.IssuedAt = b.stored.Version, b.stored.IssuedAt
	}
	counts.ReceivedAt, counts.ReceivedBy = s.Now(), s.Actor()
	if counts.ID, err = save(ctx, s, counts, b.stored); err != nil {
		return receipt, err
	}
	receipt = model.VEXReceipt{Document: counts, Outcome: model.VEXActive, Statements: len(counts.Statements)}
	receipt.Document.Statements = nil
	effect, err := applyVEX(ctx, s, counts, b.stored.Statements)
	if receipt.Changed = len(effect); err != nil {
		return receipt, err
	}
	return receipt, pruneProposal(ctx, s, d)
}

// choose returns the statements of a document with the ids.
func choose(d model.VEXDocument, ids []string) (list []model.VEXStatement, err error) {
	found := map[string]bool{}
	for _, id := range ids {
		found[id] = false
	}
	for i := range d.Statements {
		id := d.Statements[i].ID()
		if _, wanted := found[id]; wanted {
			found[id] = true
			list = append(list, d.Statements[i])
		}
	}
	for _, id := range ids {
		if !found[id] {
			return nil, model.Invalid("statements",
				"VEX document %d has no proposed statement %.80q: it may be decided, reload the list", d.ID, id)
		}
	}
	return list, nil
}

// merged adds statements to a list and removes older ones about the same subject.
func merged(stored, more []model.VEXStatement) []model.VEXStatement {
	list := slices.DeleteFunc(slices.Clone(stored), func(old model.VEXStatement) bool {
		return slices.ContainsFunc(more, func(s model.VEXStatement) bool { return s.IsAboutSame(&old) })
	})
	return append(list, more...)
}

// pruneProposal reduces a proposal to its undecided statements, and deletes it if there are none.
func pruneProposal(ctx context.Context, s Store, d model.VEXDocument) error {
	b, err := loadActiveStatements(ctx, s, d)
	if err != nil {
		return err
	}
	left := d
	outcome, list, err := b.open(ctx, s, d)
	switch left.Statements = list; {
	case err != nil:
		return err
	case outcome != model.VEXProposed:
		return s.DeleteVEX(ctx, d)
	case len(list) != len(d.Statements):
		_, err = s.SaveVEX(ctx, left, d)
	}
	return err
}

// RefuseVEX refuses a proposed document, or only the statements with the given ids. Later uploads
// of the project do not propose them again. The answer contains the reason and may be empty. It
// returns the number of refused statements.
//
// It returns model.ErrNotFound for an unknown document, model.ErrConflict for a decided one, and a
// *model.InvalidError for an unknown statement.
func RefuseVEX(ctx context.Context, s Store, id int64, answer string, statements ...string) (refused int, err error) {
	if answer, err = model.ExceptionAnswer(redact.Text(answer), false); err != nil {
		return 0, err
	}
	d, err := proposal(ctx, s, id)
	if err != nil {
		return 0, err
	}
	b, err := loadActiveStatements(ctx, s, d)
	if err != nil {
		return 0, err
	}
	chosen := d.Statements
	if len(statements) > 0 {
		if chosen, err = choose(d, statements); err != nil {
			return 0, err
		}
	}
	var ids []string
	var counts []model.VEXStatement
	for i := range chosen {
		if id := chosen[i].ID(); b.ids[id] {
			counts = append(counts, chosen[i])
		} else {
			ids = append(ids, id)
		}
	}
	if len(statements) > 0 && len(counts) > 0 {
		return 0, model.Invalid(
			"statements", "VEX document %d already decides it: remove it to end its decisions", b.counting.ID,
		)
	}
	if refused = len(ids); len(counts) > 0 { // also refuses the withdrawal of all other statements
		ids = append(ids, setID(counts))
	}
	slices.Sort(ids)
	if err := s.RefuseVEX(ctx, d, slices.Compact(ids)); err != nil {
		return 0, err
	}
	if len(statements) > 0 {
		return refused, pruneProposal(ctx, s, d)
	}
	return refused, s.EndVEX(ctx, d, model.ExceptionRefused, answer)
}
