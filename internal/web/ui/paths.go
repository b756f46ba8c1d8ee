package ui

// AuthorizePath is the page on which a user authorizes an OAuth client. The user selects the
// deployment each time, as for a scanner.
const AuthorizePath = "/authorize"

// ConnectionsPath is the page of the connections to code hosts.
const ConnectionsPath = "/settings/connections"

// StartPath is the page of the setup guide.
const StartPath = "/start"

// InvitationsPath is the page of the user's invitations.
const InvitationsPath = "/invitations"

// One page approves requests for tokens. It has two addresses, as approving a scanner requires the
// triager role. Programs print the second address for users.
const (
	// ApprovePath is for the scanners of semgrep login.
	ApprovePath = "/approve/{code}"
	// DevicePath is for programs that use the device flow (RFC 8628), such as redoubt login.
	// Programs print it without a deployment.
	DevicePath = "/device"
)

// NotificationsPath is the page of the notification rules.
const NotificationsPath = "/settings/notifications"

// RunnersPath is the page of the runners.
const RunnersPath = "/settings/runners"

// SecondFactorPath is the page on which users set up their second factor. It belongs to no
// deployment, as a deployment may require a second factor before it shows any page.
const SecondFactorPath = "/second-factor"

// TokensPath is the page of the tokens.
const TokensPath = "/settings/tokens"

// UploadPath is the page for uploading reports.
const UploadPath = "/upload"

// UsersPath is the page of the users.
const UsersPath = "/settings/users"
