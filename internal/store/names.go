package store

import (
	"github.com/redoubt/redoubt/internal/store/advisories"
	"github.com/redoubt/redoubt/internal/store/check"
	"github.com/redoubt/redoubt/internal/store/exceptions"
	"github.com/redoubt/redoubt/internal/store/findings"
	"github.com/redoubt/redoubt/internal/store/hosts"
	"github.com/redoubt/redoubt/internal/store/lifecycle"
	"github.com/redoubt/redoubt/internal/store/notifications"
	"github.com/redoubt/redoubt/internal/store/policies"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/scans"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Names of the packages below that callers use.

// Types of the packages below.
type (
	FindingCount = check.FindingCount

	ExceptionQuery = exceptions.ExceptionQuery

	FindingHistory = findings.FindingHistory
	ImpactQuery    = findings.ImpactQuery
	Occurrence     = findings.Occurrence
	Removal        = findings.Removal
	SnippetPlace   = findings.SnippetPlace
	TicketOrder    = findings.TicketOrder
	TicketQuery    = findings.TicketQuery

	ChangeComment   = hosts.ChangeComment
	ChangeReply     = hosts.ChangeReply
	CommitFacts     = hosts.CommitFacts
	Delivery        = hosts.Delivery
	DeliveryQuery   = hosts.DeliveryQuery
	Following       = hosts.Following
	RepositoryCount = hosts.RepositoryCount
	RepositoryQuery = hosts.RepositoryQuery
	RunProgress     = hosts.RunProgress
	RunQuery        = hosts.RunQuery
	Sealed          = hosts.Sealed

	ProjectHolding = lifecycle.ProjectHolding

	Delivered         = notifications.Delivered
	NotificationQuery = notifications.NotificationQuery
	Notifying         = notifications.Notifying

	PolicyRuleCount = policies.PolicyRuleCount
	Serving         = policies.Serving

	ProjectPatch = projects.ProjectPatch
	ProjectQuery = projects.ProjectQuery

	IgnoredMatch = scans.IgnoredMatch
	ScanChange   = scans.ScanChange
	ScanCursor   = scans.ScanCursor
	SourceCount  = scans.SourceCount
	Telling      = scans.Telling

	AuditFilter      = sqldb.AuditFilter
	Config           = sqldb.Config
	NewerSchemaError = sqldb.NewerSchemaError
	OlderSchemaError = sqldb.OlderSchemaError
)

// Constants of the packages below.
const (
	MatchJob = advisories.MatchJob

	MaxBareTickets = findings.MaxBareTickets
	TicketJob      = findings.TicketJob

	FollowEvery = hosts.FollowEvery
	FollowJob   = hosts.FollowJob
	HearJob     = hosts.HearJob
	RunJob      = hosts.RunJob

	DeliverJob              = notifications.DeliverJob
	MaxNotificationsWaiting = notifications.MaxNotificationsWaiting
	NotifyJob               = notifications.NotifyJob

	ScheduleJob = projects.ScheduleJob

	RequestedJobKept = queue.RequestedJobKept

	EventNew = scans.EventNew
	TellJob  = scans.TellJob

	FileName = sqldb.FileName
	MaxArgs  = sqldb.MaxArgs
)
