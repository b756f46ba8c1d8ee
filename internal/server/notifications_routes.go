package server

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// notificationsTable returns the operations of this package.
func notificationsTable() []Route {
	return describe(notificationsWords, slices.Concat(notificationRoutes()))
}

// notificationRoutes are the rows about who is told of what.
func notificationRoutes() []Route {
	const rules, one = bySlug + "/notification-rules", bySlug + "/notification-rules/{notificationRuleId}"
	return []Route{
		op(
			httpx.Row(http.MethodGet, rules, httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listNotificationRules", "notifications", beyond(view(listNotificationRules)),
		),
		op(
			httpx.Row(http.MethodPost, rules, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"createNotificationRule", "notifications", beyond(keyed(plain(createNotificationRule))),
		),
		op(
			httpx.Row(http.MethodGet, one, httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"getNotificationRule", "notifications", beyond(view(getNotificationRule)),
		),
		op(
			httpx.Row(http.MethodPatch, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"updateNotificationRule", "notifications", beyond(keyed(plain(updateNotificationRule))),
		),
		op(
			httpx.Row(http.MethodDelete, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"deleteNotificationRule", "notifications", beyond(update(deleteNotificationRule)),
		),
		op(
			httpx.Row(http.MethodPost, one+"/test", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"testNotificationRule", "notifications", beyond(keyed(plain(testNotificationRule))),
		),
		op(
			httpx.Row(http.MethodPost, one+"/rotate", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"rotateNotificationSecret", "notifications", beyond(keyed(plain(rotateNotificationSecret))),
		),
		op(
			httpx.Row(http.MethodGet, one+"/notifications", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listNotifications", "notifications", beyond(view(listNotifications)),
		),
		op(
			httpx.Row(http.MethodPost, one+"/notifications/{notificationId}/resend", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"resendNotification", "notifications", beyond(update(resendNotification)),
		),
	}
}
