package web

import "slices"

// managedRoutes returns the table of the pages about code hosts, managed scans and notifications.
func managedRoutes() []route {
	return slices.Concat(connectionRoutes(), notificationRoutes(), []route{
		{row(get, org+"/runs", viewer, reads), listRuns},
		{row(get, org+"/runs/{id}", viewer, reads), showRun},
		{row(post, org+"/runs/{id}/cancel", triager, writes), cancelRun},
		{row(post, org+"/runs/{id}/retry", triager, writes), retryRun},
	})
}

// connectionRoutes are the rows about code hosts, and about who makes managed scans.
func connectionRoutes() []route {
	return []route{
		{row(get, org+connectionsPath, admin, reads), connections},
		{row(post, org+connectionsPath, admin, writes), proven(formed(addConnection))},
		{row(get, org+connectionsPath+"/{id}", admin, reads), connection},
		{row(post, org+connectionsPath+"/{id}", admin, writes), proven(formed(changeConnection))},
		{row(post, org+connectionsPath+"/{id}/test", admin, writes), testConnection},
		{row(post, org+connectionsPath+"/{id}/repositories", admin, writes), formed(chooseRepositories)},
		{row(post, org+connectionsPath+"/{id}/hooks", admin, writes), formed(hookConnection)},
		{row(post, org+connectionsPath+"/{id}/remove", admin, writes), proven(removeConnection)},
		{row(get, org+runnersPath, admin, reads), runners},
		{row(post, org+runnersPath, admin, writes), proven(makeRunnerToken)},
		{row(post, org+runnersPath+"/{id}/revoke", admin, writes), revokeRunner},
	}
}

// notificationRoutes are the rows about who is told of what.
func notificationRoutes() []route {
	const rules, one = org + notificationsPath, org + notificationsPath + "/{id}"
	return []route{
		{row(get, rules, admin, reads), notifications},
		{row(get, rules+"/new", admin, reads), newNotification},
		{row(post, rules, admin, writes), proven(formed(addNotification))},
		{row(get, one, admin, reads), notification},
		{row(post, one, admin, writes), proven(formed(changeNotification))},
		{row(post, one+"/pause", admin, writes), formed(pauseNotification)},
		{row(post, one+"/test", admin, writes), testNotification},
		{row(post, one+"/rotate", admin, writes), proven(rotateNotification)},
		{row(post, one+"/delete", admin, writes), proven(deleteNotification)},
		{row(post, one+"/notifications/{notification}/resend", admin, writes), resendNotification},
	}
}
