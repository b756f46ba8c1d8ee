package api

import (
	"context"
	"iter"
)

// Findings yields all code findings of a query, page by page. While findings
// come in, one may be yielded twice, but none is lost.
func (c *Client) Findings(ctx context.Context, deployment string, q FindingsQuery) iter.Seq2[CodeFinding, error] {
	q.IssueType = "sast"
	return numbered(q.Page, func(page int64) ([]CodeFinding, error) {
		q.Page = page
		answer, err := c.ListFindings(ctx, deployment, q)
		if err != nil {
			return nil, err
		}
		return answer.SASTFindings.Findings, nil
	})
}

// SupplyChainFindings yields all supply-chain findings of a query.
func (c *Client) SupplyChainFindings(ctx context.Context, deployment string, q FindingsQuery) iter.Seq2[SupplyChainFinding, error] {
	q.IssueType = "sca"
	return numbered(q.Page, func(page int64) ([]SupplyChainFinding, error) {
		q.Page = page
		answer, err := c.ListFindings(ctx, deployment, q)
		if err != nil {
			return nil, err
		}
		return answer.SCAFindings.Findings, nil
	})
}

// Projects yields all projects by name.
func (c *Client) Projects(ctx context.Context, deployment string, q ProjectsQuery) iter.Seq2[Project, error] {
	return numbered(q.Page, func(page int64) ([]Project, error) {
		q.Page = page
		answer, err := c.ListProjects(ctx, deployment, q)
		if err != nil {
			return nil, err
		}
		return answer.Projects, nil
	})
}

// Dependencies yields all dependencies of a request, none twice and none lost.
func (c *Client) Dependencies(ctx context.Context, deployment string, r ListDependenciesRequest) iter.Seq2[Dependency, error] {
	return cursored(string(r.Cursor), func(cursor string) ([]Dependency, string, error) {
		r.Cursor = ID(cursor)
		answer, err := c.ListDependencies(ctx, deployment, r)
		if err != nil {
			return nil, "", err
		}
		return answer.Dependencies, answer.Cursor, nil
	})
}

// DependencyRepositories yields all projects that have dependencies.
func (c *Client) DependencyRepositories(ctx context.Context, deployment string, r ListDependencyRepositoriesRequest) iter.Seq2[RepositorySummary, error] {
	return cursored(string(r.Cursor), func(cursor string) ([]RepositorySummary, string, error) {
		r.Cursor = ID(cursor)
		answer, err := c.ListDependencyRepositories(ctx, deployment, r)
		if err != nil {
			return nil, "", err
		}
		return answer.RepositorySummaries, answer.Cursor, nil
	})
}

// Lockfiles yields all lockfiles of a project.
func (c *Client) Lockfiles(ctx context.Context, deployment, repositoryID string, r ListLockfilesRequest) iter.Seq2[LockfileSummary, error] {
	return cursored(string(r.Cursor), func(cursor string) ([]LockfileSummary, string, error) {
		r.Cursor = ID(cursor)
		answer, err := c.ListLockfiles(ctx, deployment, repositoryID, r)
		if err != nil {
			return nil, "", err
		}
		return answer.LockfileSummaries, answer.Cursor, nil
	})
}

// Scans yields all scans of a search, newest first.
func (c *Client) Scans(ctx context.Context, deployment string, r SearchScansRequest) iter.Seq2[Scan, error] {
	return cursored(string(r.Cursor), func(cursor string) ([]Scan, string, error) {
		r.Cursor = ID(cursor)
		answer, err := c.SearchScans(ctx, deployment, r)
		if err != nil {
			return nil, "", err
		}
		return answer.Scans, answer.Cursor, nil
	})
}

// PolicyRules yields all rules of a policy.
func (c *Client) PolicyRules(ctx context.Context, deployment, policyID string, q PolicyRulesQuery) iter.Seq2[PolicyRule, error] {
	return cursored(q.Cursor, func(cursor string) ([]PolicyRule, string, error) {
		q.Cursor = cursor
		answer, err := c.ListPolicyRules(ctx, deployment, policyID, q)
		if err != nil {
			return nil, "", err
		}
		return answer.Rules, answer.Cursor, nil
	})
}

// Exceptions yields all exceptions of a query, the newest first.
func (c *Client) Exceptions(ctx context.Context, deployment string, q ExceptionsQuery) iter.Seq2[Exception, error] {
	return cursored(q.Cursor, func(cursor string) ([]Exception, string, error) {
		q.Cursor = cursor
		answer, err := c.ListExceptions(ctx, deployment, q)
		if err != nil {
			return nil, "", err
		}
		return answer.Exceptions, answer.Cursor, nil
	})
}

// Tickets yields all tickets that the token may see, by id.
func (c *Client) Tickets(ctx context.Context, deployment string, q TicketsQuery) iter.Seq2[Ticket, error] {
	return cursored(q.Cursor, func(cursor string) ([]Ticket, string, error) {
		q.Cursor = cursor
		answer, err := c.ListTickets(ctx, deployment, q)
		if err != nil {
			return nil, "", err
		}
		return answer.Tickets, answer.Cursor, nil
	})
}

// VEXStatements yields all statements of a VEX document, in its own order.
func (c *Client) VEXStatements(ctx context.Context, deployment string, id int64, q ExceptionQuery) iter.Seq2[VEXStatement, error] {
	return cursored(q.Cursor, func(cursor string) ([]VEXStatement, string, error) {
		q.Cursor = cursor
		answer, err := c.GetException(ctx, deployment, id, q)
		if err != nil {
			return nil, "", err
		}
		return answer.Statements, answer.Cursor, nil
	})
}

// Secrets yields all secrets of a query.
func (c *Client) Secrets(ctx context.Context, deployment string, q SecretsQuery) iter.Seq2[Secret, error] {
	return cursored(q.Cursor, func(cursor string) ([]Secret, string, error) {
		q.Cursor = cursor
		answer, err := c.ListSecrets(ctx, deployment, q)
		if err != nil {
			return nil, "", err
		}
		return answer.Findings, answer.Cursor, nil
	})
}

// Vulns yields all supply-chain findings of a request in their older shape.
func (c *Client) Vulns(ctx context.Context, deployment string, r ListVulnsRequest) iter.Seq2[Vuln, error] {
	return func(yield func(Vuln, error) bool) {
		for {
			answer, err := c.ListVulns(ctx, deployment, r)
			if err != nil {
				pass[Vuln](nil, err, yield)
				return
			}
			if !pass(answer.Vulns, nil, yield) || answer.Cursor == nil {
				return
			}
			r.Cursor = answer.Cursor
		}
	}
}

// FollowFindings yields what changed since a cursor or a time in parts, to the last there is
// by now. Keep the cursor of each part: the next call goes on from there.
func (c *Client) FollowFindings(ctx context.Context, deployment string, q FindingChangesQuery) iter.Seq2[*FindingChangesResponse, error] {
	return func(yield func(*FindingChangesResponse, error) bool) {
		for more := true; more; {
			answer, err := c.FindingChanges(ctx, deployment, q)
			if !yield(answer, err) || err != nil {
				return
			}
			q.Cursor, more = answer.Cursor, answer.HasMore
		}
	}
}

// Impact yields all that have a vulnerability.
func (c *Client) Impact(ctx context.Context, deployment, id string, q ImpactQuery) iter.Seq2[Impact, error] {
	return cursored(q.Cursor, func(cursor string) ([]Impact, string, error) {
		q.Cursor = cursor
		answer, err := c.AdvisoryImpact(ctx, deployment, id, q)
		if err != nil {
			return nil, "", err
		}
		return answer.Impact, answer.Cursor, nil
	})
}

// Notifications yields all notifications of a rule.
func (c *Client) Notifications(ctx context.Context, deployment string, rule int64, q NotificationsQuery) iter.Seq2[Notification, error] {
	return cursored(q.Cursor, func(cursor string) ([]Notification, string, error) {
		q.Cursor = cursor
		answer, err := c.ListNotifications(ctx, deployment, rule, q)
		if err != nil {
			return nil, "", err
		}
		return answer.Notifications, answer.Cursor, nil
	})
}

// Deliveries yields all deliveries of a connection.
func (c *Client) Deliveries(ctx context.Context, deployment string, connection int64, q DeliveriesQuery) iter.Seq2[Delivery, error] {
	return cursored(q.Cursor, func(cursor string) ([]Delivery, string, error) {
		q.Cursor = cursor
		answer, err := c.ListDeliveries(ctx, deployment, connection, q)
		if err != nil {
			return nil, "", err
		}
		return answer.Deliveries, answer.Cursor, nil
	})
}

// numbered walks pages by number until one is empty.
func numbered[T any](page int64, fetch func(page int64) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for ; ; page++ {
			items, err := fetch(page)
			if !pass(items, err, yield) || len(items) == 0 {
				return
			}
		}
	}
}

// cursored walks pages by cursor until there is none.
func cursored[T any](cursor string, fetch func(cursor string) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			items, next, err := fetch(cursor)
			if !pass(items, err, yield) || next == "" {
				return
			}
			cursor = next
		}
	}
}

// pass hands items on, or the error that came instead. It is false when there
// is nothing more to do.
func pass[T any](items []T, err error, yield func(T, error) bool) bool {
	if err != nil {
		var zero T
		yield(zero, err)
		return false
	}
	for _, item := range items {
		if !yield(item, nil) {
			return false
		}
	}
	return true
}
