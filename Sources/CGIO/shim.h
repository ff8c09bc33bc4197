// The parts of GLib and GIO that CofferDBus calls.
//
// GLib's own headers need search paths that only pkg-config knows, and GLib's pkg-config files also add
// -pthread, on Debian 12 through gmodule-no-export-2.0, on Debian 13 through sysprof-capture-4. SwiftPM warns
// about that flag when it builds any package that depends on this one. Tests/HouseRules compares these
// declarations with the machine's headers; GLib keeps the declarations and their values stable.
#pragma once

// The comparison takes the types from GLib.
#ifndef COFFER_GLIB_HEADERS
typedef char gchar;
typedef int gint;
typedef gint gboolean;
typedef unsigned int guint;
typedef unsigned int guint32;
typedef unsigned long gsize;
typedef unsigned long guint64;
typedef void *gpointer;
typedef const void *gconstpointer;
typedef guint32 GQuark;

typedef struct _GAsyncResult GAsyncResult;
typedef struct _GDBusAuthObserver GDBusAuthObserver;
typedef struct _GDBusConnection GDBusConnection;
typedef struct _GDBusMessage GDBusMessage;
typedef struct _GMainContext GMainContext;
typedef struct _GObject GObject;
typedef struct _GVariant GVariant;
typedef struct _GVariantBuilder GVariantBuilder;
typedef struct _GVariantType GVariantType;

// Only GLib creates these values and reads their content.
typedef struct _GCancellable {
    gpointer opaque;
} GCancellable;
typedef struct _GSource {
    gpointer opaque;
} GSource;
typedef struct _GUnixFDList {
    gpointer opaque;
} GUnixFDList;

typedef struct _GError {
    GQuark domain;
    gint code;
    gchar *message;
} GError;

typedef enum {
    G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT = 1,
    G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION = 8
} GDBusConnectionFlags;
typedef enum { G_DBUS_CALL_FLAGS_NONE = 0, G_DBUS_CALL_FLAGS_NO_AUTO_START = 1 } GDBusCallFlags;
typedef enum { G_DBUS_SIGNAL_FLAGS_NONE = 0 } GDBusSignalFlags;
typedef enum { G_DBUS_MESSAGE_TYPE_METHOD_CALL = 1, G_DBUS_MESSAGE_TYPE_SIGNAL = 4 } GDBusMessageType;
typedef enum { G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED = 1 } GDBusMessageFlags;
typedef enum { G_DBUS_SEND_MESSAGE_FLAGS_NONE = 0 } GDBusSendMessageFlags;
typedef enum { G_IO_ERROR_CLOSED = 18, G_IO_ERROR_CANCELLED = 19, G_IO_ERROR_TIMED_OUT = 24 } GIOErrorEnum;

typedef gboolean (*GSourceFunc)(gpointer user_data);
typedef void (*GDestroyNotify)(gpointer data);
typedef void (*GAsyncReadyCallback)(GObject *source_object, GAsyncResult *res, gpointer user_data);
typedef void (*GDBusSignalCallback)(
    GDBusConnection *connection, const gchar *sender_name, const gchar *object_path,
    const gchar *interface_name, const gchar *signal_name, GVariant *parameters, gpointer user_data);
typedef GDBusMessage *(*GDBusMessageFilterFunction)(
    GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer user_data);
#endif

// The version of the loaded library
extern const guint glib_major_version;
extern const guint glib_minor_version;
extern const guint glib_micro_version;

// Memory and errors
void g_free(gpointer mem);
gpointer (g_object_ref)(gpointer object);
void g_object_unref(gpointer object);
void g_error_free(GError *error);
gboolean g_error_matches(const GError *error, GQuark domain, gint code);
GQuark g_io_error_quark(void);
gchar *g_dbus_error_get_remote_error(const GError *error);

// Main loops
GMainContext *g_main_context_new(void);
void g_main_context_unref(GMainContext *context);
gboolean g_main_context_iteration(GMainContext *context, gboolean may_block);
void g_main_context_wakeup(GMainContext *context);
void g_main_context_push_thread_default(GMainContext *context);
void g_main_context_pop_thread_default(GMainContext *context);
GSource *g_timeout_source_new(guint interval);
guint g_source_attach(GSource *source, GMainContext *context);
void g_source_set_callback(GSource *source, GSourceFunc func, gpointer data, GDestroyNotify notify);
void g_source_destroy(GSource *source);
void g_source_unref(GSource *source);
GCancellable *g_cancellable_new(void);
void g_cancellable_cancel(GCancellable *cancellable);

// Connections
GDBusConnection *g_dbus_connection_new_for_address_sync(
    const gchar *address, GDBusConnectionFlags flags, GDBusAuthObserver *observer, GCancellable *cancellable,
    GError **error);
gboolean g_dbus_connection_is_closed(GDBusConnection *connection);
void g_dbus_connection_close(
    GDBusConnection *connection, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
GVariant *g_dbus_connection_call_sync(
    GDBusConnection *connection, const gchar *bus_name, const gchar *object_path, const gchar *interface_name,
    const gchar *method_name, GVariant *parameters, const GVariantType *reply_type, GDBusCallFlags flags,
    gint timeout_msec, GCancellable *cancellable, GError **error);
GVariant *g_dbus_connection_call_with_unix_fd_list_sync(
    GDBusConnection *connection, const gchar *bus_name, const gchar *object_path, const gchar *interface_name,
    const gchar *method_name, GVariant *parameters, const GVariantType *reply_type, GDBusCallFlags flags,
    gint timeout_msec, GUnixFDList *fd_list, GUnixFDList **out_fd_list, GCancellable *cancellable,
    GError **error);
guint g_dbus_connection_signal_subscribe(
    GDBusConnection *connection, const gchar *sender, const gchar *interface_name, const gchar *member,
    const gchar *object_path, const gchar *arg0, GDBusSignalFlags flags, GDBusSignalCallback callback,
    gpointer user_data, GDestroyNotify user_data_free_func);
void g_dbus_connection_signal_unsubscribe(GDBusConnection *connection, guint subscription_id);
gint g_unix_fd_list_get_length(GUnixFDList *list);
gint g_unix_fd_list_get(GUnixFDList *list, gint index_, GError **error);

// Messages
guint g_dbus_connection_add_filter(
    GDBusConnection *connection, GDBusMessageFilterFunction filter_function, gpointer user_data,
    GDestroyNotify user_data_free_func);
void g_dbus_connection_remove_filter(GDBusConnection *connection, guint filter_id);
gboolean g_dbus_connection_send_message(
    GDBusConnection *connection, GDBusMessage *message, GDBusSendMessageFlags flags,
    volatile guint32 *out_serial, GError **error);
gboolean g_dbus_connection_flush_sync(
    GDBusConnection *connection, GCancellable *cancellable, GError **error);
GDBusMessage *g_dbus_message_new_signal(
    const gchar *path, const gchar *interface_, const gchar *signal);
GDBusMessage *g_dbus_message_new_method_reply(GDBusMessage *method_call_message);
GDBusMessage *g_dbus_message_new_method_error_literal(
    GDBusMessage *method_call_message, const gchar *error_name, const gchar *error_message);
GDBusMessageType g_dbus_message_get_message_type(GDBusMessage *message);
GDBusMessageFlags g_dbus_message_get_flags(GDBusMessage *message);
const gchar *g_dbus_message_get_sender(GDBusMessage *message);
const gchar *g_dbus_message_get_path(GDBusMessage *message);
const gchar *g_dbus_message_get_interface(GDBusMessage *message);
const gchar *g_dbus_message_get_member(GDBusMessage *message);
GUnixFDList *g_dbus_message_get_unix_fd_list(GDBusMessage *message);
GVariant *g_dbus_message_get_body(GDBusMessage *message);
void g_dbus_message_set_body(GDBusMessage *message, GVariant *body);
void g_dbus_message_set_destination(GDBusMessage *message, const gchar *value);

// Values
GVariant *g_variant_new_uint64(guint64 value);
GVariant *g_variant_new_array(const GVariantType *child_type, GVariant *const *children, gsize n_children);
guint64 g_variant_get_uint64(GVariant *value);
gsize g_variant_get_size(GVariant *value);
GVariant *g_variant_new_boolean(gboolean value);
GVariant *g_variant_new_uint32(guint32 value);
GVariant *g_variant_new_string(const gchar *string);
GVariant *g_variant_new_object_path(const gchar *object_path);
GVariant *g_variant_new_variant(GVariant *value);
GVariant *g_variant_new_tuple(GVariant *const *children, gsize n_children);
GVariant *g_variant_new_dict_entry(GVariant *key, GVariant *value);
GVariant *g_variant_new_fixed_array(
    const GVariantType *element_type, gconstpointer elements, gsize n_elements, gsize element_size);
void g_variant_unref(GVariant *value);
const gchar *g_variant_get_type_string(GVariant *value);
gboolean g_variant_get_boolean(GVariant *value);
guint32 g_variant_get_uint32(GVariant *value);
const gchar *g_variant_get_string(GVariant *value, gsize *length);
gconstpointer g_variant_get_fixed_array(GVariant *value, gsize *n_elements, gsize element_size);
gsize g_variant_n_children(GVariant *value);
GVariant *g_variant_get_child_value(GVariant *value, gsize index_);
GVariantType *g_variant_type_new(const gchar *type_string);
void g_variant_type_free(GVariantType *type);
GVariantBuilder *g_variant_builder_new(const GVariantType *type);
void g_variant_builder_unref(GVariantBuilder *builder);
void g_variant_builder_add_value(GVariantBuilder *builder, GVariant *value);
GVariant *g_variant_builder_end(GVariantBuilder *builder);
