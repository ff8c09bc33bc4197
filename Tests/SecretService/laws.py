"""Laws of a Secret Service: each is a function of two connections that fails if the law does not hold.

The laws run against `coffer serve` and against gnome-keyring; see contract.py, which knows the differences.
The default collection is unlocked when a law begins, and what a law stores has an attribute of its own.
"""
import os

import dbus
from gi.repository import Gio, GLib

from client import DEFAULT, DH, PRIME, ROOT, SECRET, Client, Refused

LAWS = []


def law(function):
    LAWS.append((function.__name__, function))
    return function


def refused(names, body):
    """Checks that the call is refused with one of these errors."""
    try:
        body()
    except Refused as error:
        assert error.name in names.split(), f"refused with {error}"
        return
    raise AssertionError("not refused")


GONE = "NoSuchObject UnknownMethod UnknownObject"
count = 0


def own(**more):
    """Returns attributes that no other law uses."""
    global count
    count += 1
    return {"law": f"{os.getpid()}-{count}", **more}


def paths(items):
    return sorted(str(item) for item in items)


# Sessions

@law
def plain_session_has_an_empty_output(a, b):
    output, path = a.call(ROOT, "Service", "OpenSession", "sv", "plain", dbus.String("", variant_level=1))
    assert output == "" and path.startswith(ROOT + "/session/")


@law
def encrypted_session_has_an_output_of_bytes(a, b):
    output, _ = a.open(DH, pow(2, 12345, PRIME).to_bytes(128, "big"))
    assert 1 < int.from_bytes(bytes(output), "big") < PRIME - 1


@law
def dh_output_has_128_bytes(a, b):
    for _ in range(20):
        assert len(a.open(DH, pow(2, 12345, PRIME).to_bytes(128, "big"))[0]) == 128


@law
def dh_values_with_leading_zeros_agree(a, b):
    # 2^3 = 8: 127 zero bytes before it.
    session = a.encrypted(exponent=3)
    item = a.create(own(), b"padded", session=a.plain())
    assert a.unseal(a.call(item, "Item", "GetSecret", "o", session)) == b"padded"


@law
def dh_value_may_be_short(a, b):
    assert a.open(DH, b"\x08")[1].startswith(ROOT + "/session/")


@law
def dh_value_zero_is_refused(a, b):
    refused("InvalidArgs Failed", lambda: a.open(DH, bytes(128)))


@law
def dh_value_one_is_refused(a, b):
    refused("InvalidArgs Failed", lambda: a.open(DH, b"\x01"))


@law
def dh_value_of_order_two_is_refused(a, b):
    refused("InvalidArgs Failed", lambda: a.open(DH, (PRIME - 1).to_bytes(128, "big")))


@law
def dh_value_prime_is_refused(a, b):
    refused("InvalidArgs Failed", lambda: a.open(DH, PRIME.to_bytes(128, "big")))


@law
def dh_value_too_long_is_refused(a, b):
    refused("InvalidArgs Failed", lambda: a.open(DH, b"\x01" + bytes(128)))


@law
def dh_value_empty_is_refused(a, b):
    refused("InvalidArgs Failed", lambda: a.open(DH, b""))


@law
def dh_value_of_another_type_is_refused(a, b):
    refused("InvalidArgs Failed", lambda: a.call(
        ROOT, "Service", "OpenSession", "sv", DH, dbus.String("text", variant_level=1)))


@law
def unknown_algorithm_is_not_supported(a, b):
    refused("NotSupported", lambda: a.open("rot13", b"x"))


@law
def sessions_have_paths_of_their_own(a, b):
    assert len({a.plain() for _ in range(10)}) == 10


@law
def closed_session_is_gone(a, b):
    session = a.plain()
    item = a.create(own())
    a.call(session, "Session", "Close")
    refused("NoSession " + GONE, lambda: a.get(item, session))


@law
def session_belongs_to_its_connection(a, b):
    item = a.create(own())
    refused("NoSession " + GONE, lambda: b.get(item, a.plain()))


@law
def session_of_another_cannot_be_closed(a, b):
    session = a.plain()
    refused("NoSession AccessDenied " + GONE, lambda: b.call(session, "Session", "Close"))
    item = a.create(own(), b"still")
    assert a.get(item, session) == b"still"


@law
def sessions_end_with_their_connection(a, b):
    c = Client(ADDRESS)
    session = c.plain()
    c.close()
    item = a.create(own())
    refused("NoSession " + GONE, lambda: a.get(item, session))


@law
def secret_needs_a_session(a, b):
    item = a.create(own())
    refused("NoSession " + GONE, lambda: a.get(item, ROOT + "/session/none"))


@law
def secret_can_be_stored_only_with_a_session(a, b):
    refused("NoSession " + GONE + " InvalidArgs", lambda: a.create(own(), session=ROOT + "/session/none"))


# Secrets

def keeps(value):
    def check(a, b):
        item = a.create(own(), value)
        assert a.get(item) == value
        assert b.get(item) == value
    return check


for name, value in {
    "empty": b"", "one_byte": b"x", "of_text": "pässword".encode(), "with_a_newline": b"one\ntwo\n",
    "with_nul": b"a\0b\0", "of_non_utf8_bytes": b"\xff\xfe\x80\xc3", "with_all_bytes": bytes(range(256)),
    "with_brackets_and_equals": b"[item]\nsecret=x\n", "of_64_KiB": os.urandom(65536),
    "of_1_MiB": os.urandom(1 << 20), "of_sixteen_bytes": bytes(16), "of_spaces": b"   ",
}.items():
    check = keeps(value)
    check.__name__ = "secret_" + name + "_is_kept"
    law(check)


@law
def secret_larger_than_1_MiB_does_not_end_the_service(a, b):
    try:
        a.create(own(), bytes((1 << 20) + 1))
    except Refused:
        pass
    assert a.get(a.create(own(), b"still here")) == b"still here"


@law
def encrypted_secret_is_kept(a, b):
    session = a.encrypted()
    for value in [b"", b"x", bytes(15), bytes(16), bytes(17), os.urandom(1000)]:
        iv, sealed = a.seal(value)
        properties = dbus.Dictionary(
            {SECRET + "Item.Attributes": dbus.Dictionary(own(), signature="ss", variant_level=1)},
            signature="sv")
        item = a.call(
            DEFAULT, "Collection", "CreateItem", "a{sv}(oayays)b", properties,
            a.secret(session, sealed, iv), False)[0]
        assert a.unseal(a.call(item, "Item", "GetSecret", "o", session)) == value
        assert b.get(item) == value


@law
def encrypted_answers_have_ivs_of_their_own(a, b):
    session = a.encrypted()
    item = a.create(own())
    ivs = {bytes(a.call(item, "Item", "GetSecret", "o", session)[1]) for _ in range(8)}
    assert len(ivs) == 8 and {len(iv) for iv in ivs} == {16}


@law
def encrypted_answer_does_not_show_the_secret(a, b):
    session = a.encrypted()
    item = a.create(own(), b"a secret that is easy to see")
    assert b"easy" not in bytes(a.call(item, "Item", "GetSecret", "o", session)[2])


def bad_seal(a, parameters, value):
    session = a.encrypted()
    item = a.create(own(), b"before", session=a.plain())
    refused("InvalidArgs Failed", lambda: a.call(
        item, "Item", "SetSecret", "(oayays)", a.secret(session, value, parameters)))
    assert a.get(item, a.plain()) == b"before"


@law
def short_iv_is_refused(a, b):
    bad_seal(a, bytes(8), bytes(16))


@law
def missing_iv_is_refused(a, b):
    bad_seal(a, b"", bytes(16))


@law
def ciphertext_of_a_wrong_length_is_refused(a, b):
    bad_seal(a, bytes(16), bytes(17))


@law
def empty_ciphertext_is_refused(a, b):
    bad_seal(a, bytes(16), b"")


@law
def ciphertext_with_wrong_padding_is_refused(a, b):
    session = a.encrypted()
    item = a.create(own(), b"before", session=a.plain())
    iv, sealed = a.seal(b"0123456789abcdef")
    # Without the block of padding: the last byte is "f", no length.
    refused("InvalidArgs Failed", lambda: a.call(
        item, "Item", "SetSecret", "(oayays)", a.secret(session, sealed[:16], iv)))
    assert a.get(item, a.plain()) == b"before"


@law
def answer_names_its_session(a, b):
    session = a.plain()
    assert a.call(a.create(own()), "Item", "GetSecret", "o", session)[0] == session


@law
def plain_answer_has_no_parameters(a, b):
    assert bytes(a.call(a.create(own()), "Item", "GetSecret", "o", a.plain())[1]) == b""


@law
def content_type_is_kept(a, b):
    item = a.create(own(), type="application/octet-stream")
    assert a.call(item, "Item", "GetSecret", "o", a.plain())[3] == "application/octet-stream"


@law
def set_secret_replaces(a, b):
    item = a.create(own(), b"old")
    a.set(item, b"new")
    assert b.get(item) == b"new"


@law
def set_secret_keeps_label_and_attributes(a, b):
    attributes = own(x="y")
    item = a.create(attributes, label="Kept")
    a.set(item, b"new")
    assert a.property(item, "Item", "Label") == "Kept"
    assert a.search(attributes)[0] == [item]


@law
def get_secrets_of_several_items(a, b):
    attributes = own()
    items = [a.create({**attributes, "n": str(n)}, str(n).encode()) for n in range(5)]
    found = a.secrets(items, a.plain())
    assert {str(path): bytes(secret[2]) for path, secret in found.items()} == {
        str(item): str(n).encode() for n, item in enumerate(items)}


@law
def get_secrets_of_nothing_is_empty(a, b):
    assert len(a.secrets([], a.plain())) == 0


@law
def get_secrets_leaves_out_what_is_gone(a, b):
    item, gone = a.create(own()), a.create(own())
    a.delete(gone)
    assert paths(a.secrets([item, gone], a.plain())) == paths([item])


@law
def get_secrets_needs_a_session(a, b):
    item = a.create(own())
    refused("NoSession " + GONE, lambda: a.secrets([item], ROOT + "/session/none"))


# Items

@law
def created_item_is_below_its_collection(a, b):
    assert a.create(own()).startswith(a.alias("default") + "/")


@law
def created_item_has_its_label(a, b):
    assert a.property(a.create(own(), label="Étiquette"), "Item", "Label") == "Étiquette"


@law
def created_item_has_its_attributes(a, b):
    attributes = own(user="me", empty="", ünïcode="välue")
    found = a.property(a.create(attributes), "Item", "Attributes")
    assert {str(k): str(v) for k, v in found.items() if k != "xdg:schema"} == attributes


@law
def item_without_attributes_can_be_stored(a, b):
    item = a.create({}, b"bare", label="bare")
    assert a.get(item) == b"bare"
    a.delete(item)


@law
def item_without_properties_can_be_stored(a, b):
    item = a.call(
        DEFAULT, "Collection", "CreateItem", "a{sv}(oayays)b", dbus.Dictionary({}, signature="sv"),
        a.secret(a.plain(), b"bare"), False)[0]
    assert a.get(item) == b"bare"
    a.delete(item)


@law
def created_item_is_unlocked(a, b):
    assert a.property(a.create(own()), "Item", "Locked") == False  # noqa: E712


@law
def created_item_has_times(a, b):
    item = a.create(own())
    created, modified = (a.property(item, "Item", name) for name in ["Created", "Modified"])
    assert 1_600_000_000 < created <= modified + 1


@law
def create_does_not_prompt_when_unlocked(a, b):
    properties = dbus.Dictionary(
        {SECRET + "Item.Attributes": dbus.Dictionary(own(), signature="ss", variant_level=1)}, signature="sv")
    assert a.call(
        DEFAULT, "Collection", "CreateItem", "a{sv}(oayays)b", properties, a.secret(a.plain(), b"x"),
        False)[1] == "/"


@law
def create_without_replace_adds(a, b):
    attributes = own()
    first, second = a.create(attributes), a.create(attributes)
    assert paths(a.search(attributes)[0]) == paths([first, second])


@law
def create_with_replace_keeps_the_path(a, b):
    attributes = own()
    item = a.create(attributes, b"old")
    assert a.create(attributes, b"new", label="New", replace=True) == item
    assert a.get(item) == b"new" and a.property(item, "Item", "Label") == "New"


@law
def replace_of_nothing_creates(a, b):
    attributes = own()
    item = a.create(attributes, replace=True)
    assert a.search(attributes)[0] == [item]


@law
def replace_needs_the_same_attributes(a, b):
    attributes = own()
    more = a.create({**attributes, "more": "x"}, b"more")
    item = a.create(attributes, b"fewer", replace=True)
    assert item != more and a.get(more) == b"more"


@law
def replace_is_not_confused_by_fewer_attributes(a, b):
    attributes = own()
    fewer = a.create(attributes, b"fewer")
    item = a.create({**attributes, "more": "x"}, b"more", replace=True)
    assert item != fewer and a.get(fewer) == b"fewer"


@law
def attributes_that_look_the_same_are_different(a, b):
    attributes = own()
    composed = a.create({**attributes, "\u00e9": "1"}, b"composed", replace=True)
    combined = a.create({**attributes, "e\u0301": "1"}, b"combined", replace=True)
    assert composed != combined and a.get(composed) == b"composed"
    assert a.search({**attributes, "\u00e9": "1"})[0] == [composed]


@law
def values_that_look_the_same_are_different(a, b):
    attributes = own()
    composed = a.create({**attributes, "user": "\u00e9"}, b"composed")
    a.create({**attributes, "user": "e\u0301"}, b"combined")
    assert a.search({**attributes, "user": "\u00e9"})[0] == [composed]


@law
def case_matters(a, b):
    attributes = own(user="Me")
    a.create(attributes)
    assert a.search({**attributes, "user": "me"}) == ([], [])


@law
def label_can_be_set(a, b):
    item = a.create(own(), b"kept", label="Old")
    a.set_property(item, "Item", "Label", dbus.String("New", variant_level=1))
    assert b.property(item, "Item", "Label") == "New" and a.get(item) == b"kept"


@law
def attributes_can_be_set(a, b):
    old, new = own(), own()
    item = a.create(old, b"kept")
    a.set_property(item, "Item", "Attributes", dbus.Dictionary(new, signature="ss", variant_level=1))
    assert a.search(old) == ([], []) and a.search(new)[0] == [item] and a.get(item) == b"kept"


@law
def locked_property_cannot_be_set(a, b):
    item = a.create(own())
    refused("PropertyReadOnly InvalidArgs Failed AccessDenied", lambda: a.set_property(
        item, "Item", "Locked", dbus.Boolean(True, variant_level=1)))


@law
def label_of_another_type_is_refused(a, b):
    item = a.create(own(), label="Label")
    refused("InvalidArgs Failed InvalidSignature", lambda: a.set_property(
        item, "Item", "Label", dbus.UInt32(3, variant_level=1)))
    assert a.property(item, "Item", "Label") == "Label"


@law
def get_all_has_every_property_of_an_item(a, b):
    wanted = {"Locked", "Attributes", "Label", "Created", "Modified"}
    assert wanted <= {str(name) for name in a.properties(a.create(own()), "Item")}


@law
def deleted_item_is_gone(a, b):
    attributes = own()
    item = a.create(attributes)
    assert a.delete(item) == "/"
    assert a.search(attributes) == ([], [])
    refused(GONE, lambda: a.get(item))


@law
def deleted_item_cannot_be_deleted_again(a, b):
    item = a.create(own())
    a.delete(item)
    refused(GONE, lambda: a.delete(item))


@law
def secret_of_a_deleted_item_cannot_be_set(a, b):
    item = a.create(own())
    a.delete(item)
    refused(GONE, lambda: a.set(item, b"x"))


@law
def properties_of_a_deleted_item_are_gone(a, b):
    item = a.create(own())
    a.delete(item)
    refused(GONE + " InvalidArgs UnknownInterface", lambda: a.property(item, "Item", "Label"))


@law
def items_are_shared_by_connections(a, b):
    attributes = own()
    assert b.search(attributes) == ([], [])
    item = a.create(attributes)
    assert b.search(attributes)[0] == [item]


@law
def collection_lists_its_items(a, b):
    item = a.create(own())
    assert item in a.property(DEFAULT, "Collection", "Items")
    a.delete(item)
    assert item not in a.property(DEFAULT, "Collection", "Items")


# Searching

@law
def search_needs_every_attribute(a, b):
    attributes = own(x="1", y="2")
    item = a.create(attributes)
    assert a.search({**attributes, "z": "3"}) == ([], [])
    assert a.search({**attributes, "y": "3"}) == ([], [])
    assert a.search(attributes)[0] == [item]


@law
def search_by_a_part_of_the_attributes(a, b):
    attributes = own()
    item = a.create({**attributes, "more": "x"})
    assert a.search(attributes)[0] == [item]


@law
def search_for_nothing_known_is_empty(a, b):
    assert a.search({"no": "such item"}) == ([], [])


@law
def search_in_the_collection(a, b):
    attributes = own()
    item = a.create(attributes)
    assert a.search_in(a.alias("default"), attributes) == [item]


@law
def search_at_the_alias(a, b):
    attributes = own()
    item = a.create(attributes)
    assert a.search_in(DEFAULT, attributes) == [item]


@law
def search_with_an_empty_value(a, b):
    attributes = own(empty="")
    item = a.create(attributes)
    assert a.search(attributes)[0] == [item]
    assert a.search({**attributes, "empty": "x"}) == ([], [])


@law
def search_does_not_split_name_and_value(a, b):
    attributes = own()
    a.create({**attributes, "ab": "c"})
    assert a.search({**attributes, "a": "bc"}) == ([], [])


@law
def search_of_many_items(a, b):
    attributes = own()
    items = [a.create({**attributes, "n": str(n)}) for n in range(40)]
    assert paths(a.search(attributes)[0]) == paths(items)
    assert a.search({**attributes, "n": "17"})[0] == [items[17]]


# Collections and aliases

@law
def default_alias_exists(a, b):
    assert a.alias("default").startswith(ROOT + "/collection/")


@law
def unknown_alias_is_no_path(a, b):
    assert a.alias("nothing_of_this_name") == "/"


@law
def default_alias_is_an_object(a, b):
    assert a.property(DEFAULT, "Collection", "Label") == a.property(a.alias("default"), "Collection", "Label")


@law
def all_methods_work_at_the_alias(a, b):
    attributes = own()
    item = a.create(attributes, b"x", collection=DEFAULT)
    assert a.create(attributes, b"y", collection=DEFAULT, replace=True) == item


@law
def unlock_takes_the_alias(a, b):
    unlocked, prompt = a.unlock(DEFAULT)
    assert prompt == "/" and len(unlocked) == 1


@law
def login_alias_exists(a, b):
    assert a.alias("login") != "/"


@law
def session_alias_exists(a, b):
    assert a.alias("session") == ROOT + "/collection/session"


@law
def session_collection_keeps_items(a, b):
    attributes = own()
    item = a.create(attributes, b"volatile", collection=ROOT + "/collection/session")
    assert a.get(item) == b"volatile" and a.search(attributes)[0] == [item]


@law
def session_collection_stays_unlocked(a, b):
    session = ROOT + "/collection/session"
    item = a.create(own(), b"volatile", collection=session)
    a.lock(session)
    assert a.property(session, "Collection", "Locked") == False  # noqa: E712
    assert a.get(item) == b"volatile"


@law
def service_lists_its_collections(a, b):
    listed = a.property(ROOT, "Service", "Collections")
    assert a.alias("default") in listed and ROOT + "/collection/session" in listed


@law
def collection_has_its_properties(a, b):
    wanted = {"Items", "Label", "Locked", "Created", "Modified"}
    assert wanted <= {str(name) for name in a.properties(DEFAULT, "Collection")}


@law
def collection_can_be_created_and_deleted(a, b):
    path = new_collection(a, "New one")
    assert path in a.property(ROOT, "Service", "Collections")
    assert a.property(path, "Collection", "Label") == "New one"
    a.call(path, "Collection", "Delete")
    assert path not in a.property(ROOT, "Service", "Collections")


@law
def collections_with_one_label_are_different(a, b):
    first, second = new_collection(a, "Same"), new_collection(a, "Same")
    assert first != second
    for path in [first, second]:
        a.call(path, "Collection", "Delete")


@law
def collection_gets_its_alias(a, b):
    path = a.new_collection("Aliased", "lawalias")[0]
    assert a.alias("lawalias") == path
    assert a.new_collection("Again", "lawalias")[0] == path
    a.call(path, "Collection", "Delete")
    assert a.alias("lawalias") == "/"


@law
def alias_can_be_set_and_removed(a, b):
    a.call(ROOT, "Service", "SetAlias", "so", "mine", a.alias("default"))
    assert a.alias("mine") == a.alias("default")
    item = a.create(own(), b"by alias", collection=ROOT + "/aliases/mine")
    assert a.get(item) == b"by alias"
    a.call(ROOT, "Service", "SetAlias", "so", "mine", dbus.ObjectPath("/"))
    assert a.alias("mine") == "/"


@law
def alias_of_nothing_is_refused(a, b):
    refused(GONE, lambda: a.call(
        ROOT, "Service", "SetAlias", "so", "mine", dbus.ObjectPath(ROOT + "/collection/none")))


@law
def items_of_collections_are_apart(a, b):
    path = new_collection(a, "Apart")
    attributes = own()
    item = a.create(attributes, collection=path)
    assert a.search_in(DEFAULT, attributes) == [] and a.search_in(path, attributes) == [item]
    assert a.search(attributes)[0] == [item]
    a.call(path, "Collection", "Delete")


@law
def deleted_collection_takes_its_items(a, b):
    path = new_collection(a, "Short")
    attributes = own()
    item = a.create(attributes, collection=path)
    a.call(path, "Collection", "Delete")
    assert a.search(attributes) == ([], [])
    refused(GONE, lambda: a.get(item))


@law
def collection_label_can_be_set(a, b):
    path = new_collection(a, "Before")
    a.set_property(path, "Collection", "Label", dbus.String("After", variant_level=1))
    assert b.property(path, "Collection", "Label") == "After"
    a.call(path, "Collection", "Delete")


@law
def unknown_collection_is_no_object(a, b):
    refused(GONE + " InvalidArgs", lambda: a.property(ROOT + "/collection/none", "Collection", "Label"))


# Locking

def with_lock(a):
    collection = a.alias("default")
    locked, prompt = a.lock(collection)
    assert list(locked) == [collection] and prompt == "/"
    return collection


def unlock_again(a, collection):
    unlocked, prompt = a.unlock(collection)
    if prompt != "/" and PEER is not None:
        return PEER.unlock(a, collection)
    assert prompt == "/" and list(unlocked) == [collection]


def new_collection(a, label, alias=""):
    if PEER is not None:
        return PEER.create(a, label)
    path, prompt = a.new_collection(label, alias)
    assert prompt == "/"
    return path


@law
def unlock_of_nothing_is_empty(a, b):
    unlocked, prompt = a.unlock()
    assert list(unlocked) == [] and prompt == "/"


@law
def lock_of_nothing_is_empty(a, b):
    locked, prompt = a.lock()
    assert list(locked) == [] and prompt == "/"


@law
def lock_of_an_unknown_path_is_no_error(a, b):
    assert list(a.lock(ROOT + "/collection/none")[0]) == []


@law
def unlock_of_an_unknown_path_is_no_error(a, b):
    unlocked, prompt = a.unlock(ROOT + "/collection/none")
    assert list(unlocked) == [] and prompt == "/"


@law
def locked_collection_says_so(a, b):
    collection = with_lock(a)
    assert b.property(collection, "Collection", "Locked") == True  # noqa: E712
    unlock_again(a, collection)
    assert b.property(collection, "Collection", "Locked") == False  # noqa: E712


@law
def locked_secret_cannot_be_read(a, b):
    item = a.create(own())
    collection = with_lock(a)
    refused("IsLocked", lambda: b.get(item))
    unlock_again(a, collection)
    assert b.get(item) == b"secret"


@law
def unlocked_collection_has_unlocked_items(a, b):
    item = a.create(own())
    collection = with_lock(a)
    assert a.property(item, "Item", "Locked") == True  # noqa: E712
    unlock_again(a, collection)
    assert a.property(item, "Item", "Locked") == False  # noqa: E712
    assert a.get(item) == b"secret"


@law
def locked_collection_answers_a_search(a, b):
    attributes = own()
    item = a.create(attributes)
    collection = with_lock(a)
    assert a.search(attributes) == ([], [item])
    assert a.search_in(collection, attributes) == [item]
    assert a.search({**attributes, "other": "x"}) == ([], [])
    unlock_again(a, collection)


@law
def locked_attributes_are_not_shown(a, b):
    attributes = own(user="private")
    item = a.create(attributes)
    collection = with_lock(a)
    shown = a.property(item, "Item", "Attributes")
    unlock_again(a, collection)
    assert "private" not in shown.values()
    assert a.property(item, "Item", "Attributes")["user"] == "private"


@law
def locked_attributes_are_empty(a, b):
    item = a.create(own(user="private"))
    collection = with_lock(a)
    shown = dict(a.property(item, "Item", "Attributes"))
    unlock_again(a, collection)
    assert shown == {}


@law
def get_secrets_leaves_out_what_is_locked(a, b):
    item = a.create(own())
    collection = with_lock(a)
    found = a.secrets([item], a.plain())
    unlock_again(a, collection)
    assert len(found) == 0


@law
def write_while_locked_is_kept(a, b):
    attributes = own()
    collection = with_lock(a)
    try:
        item = a.create(attributes, b"while locked")
    finally:
        unlock_again(a, collection)
    assert a.search(attributes)[0] == [item] and a.get(item) == b"while locked"


@law
def write_while_locked_is_found_at_once(a, b):
    attributes = own()
    collection = with_lock(a)
    try:
        item = a.create(attributes, b"while locked")
        found = b.search(attributes)
    finally:
        unlock_again(a, collection)
    assert found == ([], [item])


@law
def label_cannot_be_set_while_locked(a, b):
    item = a.create(own(), label="Before")
    collection = with_lock(a)
    refused("IsLocked", lambda: a.set_property(item, "Item", "Label", dbus.String("x", variant_level=1)))
    unlock_again(a, collection)
    assert a.property(item, "Item", "Label") == "Before"


@law
def a_new_secret_for_a_locked_item_loses_no_attribute(a, b):
    attributes = own()
    item = a.create(attributes, b"old", label="Before")
    collection = with_lock(a)
    refused("IsLocked", lambda: a.set(item, b"new"))
    unlock_again(a, collection)
    assert a.search(attributes)[0] == [item] and a.get(item) == b"old"
    assert a.property(item, "Item", "Label") == "Before"


@law
def item_paths_lock_too(a, b):
    item = a.create(own())
    assert list(a.lock(item)[0]) == [item]
    assert a.property(item, "Item", "Locked") == True  # noqa: E712
    unlock_again(a, a.alias("default"))
    assert a.property(item, "Item", "Locked") == False  # noqa: E712
    assert a.get(item) == b"secret"


# Signals

@law
def item_creation_is_signalled(a, b):
    item = a.create(own())
    b.wait(lambda path, member, values, _: member == "ItemCreated" and values[0] == item)


@law
def item_deletion_is_signalled(a, b):
    item = a.create(own())
    a.delete(item)
    b.wait(lambda path, member, values, _: member == "ItemDeleted" and values[0] == item)


@law
def item_change_is_signalled(a, b):
    item = a.create(own())
    a.set(item, b"new")
    b.wait(lambda path, member, values, _: member == "ItemChanged" and values[0] == item)


@law
def item_signals_come_from_the_collection(a, b):
    item = a.create(own())
    signal = b.wait(lambda path, member, values, _: member == "ItemCreated" and values[0] == item)
    assert signal[0] == a.alias("default")


@law
def collection_creation_and_deletion_are_signalled(a, b):
    path = new_collection(a, "Signalled")
    b.wait(lambda at, member, values, _: at == ROOT and member == "CollectionCreated" and values[0] == path)
    a.call(path, "Collection", "Delete")
    b.wait(lambda at, member, values, _: at == ROOT and member == "CollectionDeleted" and values[0] == path)


@law
def lock_changes_the_property(a, b):
    collection = with_lock(a)
    b.wait(lambda path, member, values, _: path == collection and member == "PropertiesChanged"
           and values[1].get("Locked") == True)  # noqa: E712
    unlock_again(a, collection)
    b.wait(lambda path, member, values, _: path == collection and member == "PropertiesChanged"
           and values[1].get("Locked") == False)  # noqa: E712


@law
def lock_is_signalled_by_the_service(a, b):
    collection = with_lock(a)
    b.wait(lambda path, member, values, _: member == "CollectionChanged" and values[0] == collection)
    unlock_again(a, collection)


@law
def lock_changes_the_items_property(a, b):
    item = a.create(own())
    collection = with_lock(a)
    b.wait(lambda path, member, values, _: path == item and member == "PropertiesChanged"
           and values[1].get("Locked") == True)  # noqa: E712
    unlock_again(a, collection)


@law
def label_change_is_signalled(a, b):
    item = a.create(own())
    a.set_property(item, "Item", "Label", dbus.String("Renamed", variant_level=1))
    b.wait(lambda path, member, values, _: path == item and member == "PropertiesChanged"
           and values[1].get("Label") == "Renamed")


@law
def a_search_is_not_signalled(a, b):
    b.settle()
    b.signals.clear()
    a.search({"no": "such item"})
    b.settle()
    assert b.signals == []


# Bad input

@law
def wrong_arguments_are_refused(a, b):
    refused("InvalidArgs UnknownMethod InvalidSignature", lambda: a.call(ROOT, "Service", "SearchItems", "s", "x"))
    refused("InvalidArgs UnknownMethod InvalidSignature", lambda: a.call(ROOT, "Service", "Lock"))


@law
def unknown_method_is_refused(a, b):
    refused("UnknownMethod", lambda: a.call(ROOT, "Service", "Nothing"))


@law
def unknown_interface_is_refused(a, b):
    refused("UnknownInterface UnknownMethod", lambda: a.call(ROOT, "org.example.Nothing", "Nothing"))


@law
def unknown_property_is_refused(a, b):
    refused("UnknownProperty InvalidArgs", lambda: a.property(ROOT, "Service", "Nothing"))


@law
def methods_belong_to_their_objects(a, b):
    refused("UnknownMethod UnknownInterface", lambda: a.call(ROOT, "Item", "Delete"))
    refused("UnknownMethod UnknownInterface", lambda: a.call(
        DEFAULT, "Service", "ReadAlias", "s", "default"))


@law
def unknown_path_is_no_object(a, b):
    refused(GONE + " UnknownInterface", lambda: a.call("/somewhere/else", "Service", "ReadAlias", "s", "x"))
    refused(GONE + " UnknownInterface", lambda: a.call(ROOT + "x", "Service", "ReadAlias", "s", "x"))


@law
def unknown_item_is_no_object(a, b):
    refused(GONE, lambda: a.get(a.alias("default") + "/none"))


@law
def unknown_prompt_is_no_object(a, b):
    refused(GONE, lambda: a.call(ROOT + "/prompt/none", "Prompt", "Dismiss"))


@law
def duplicate_attributes_do_not_end_the_service(a, b):
    # A dictionary with the same name twice, which only GLib writes.
    builder = GLib.VariantBuilder(GLib.VariantType("a{ss}"))
    for value in ["1", "2"]:
        entry = GLib.Variant.new_dict_entry(GLib.Variant("s", "twice"), GLib.Variant("s", value))
        builder.add_value(entry)
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    bus = Gio.DBusConnection.new_for_address_sync(ADDRESS, flags, None, None)
    arguments = GLib.Variant.new_tuple(builder.end())
    found = bus.call_sync(
        "org.freedesktop.secrets", ROOT, SECRET + "Service", "SearchItems", arguments, None,
        Gio.DBusCallFlags.NONE, 30000, None)
    bus.close_sync(None)
    assert found.unpack() == ([], [])
    assert a.search(own()) == ([], [])


@law
def many_attributes_are_kept(a, b):
    attributes = own(**{f"name{n}": f"value{n}" for n in range(200)})
    item = a.create(attributes)
    assert a.search({"law": attributes["law"], "name199": "value199"})[0] == [item]


@law
def long_attribute_is_kept(a, b):
    attributes = own(long="x" * 20000)
    assert a.search(attributes) == ([], [])
    item = a.create(attributes)
    assert a.search(attributes)[0] == [item]


@law
def introspection_names_the_interfaces(a, b):
    for path, interface in [(ROOT, "Service"), (DEFAULT, "Collection"), (a.create(own()), "Item")]:
        text = a.call(path, "org.freedesktop.DBus.Introspectable", "Introspect")
        assert f'"{SECRET}{interface}"' in text, path


@law
def introspection_names_the_collections(a, b):
    text = a.call(ROOT + "/collection", "org.freedesktop.DBus.Introspectable", "Introspect")
    assert f'"{a.alias("default").rsplit("/", 1)[1]}"' in text


@law
def ping_is_answered(a, b):
    a.call(ROOT, "org.freedesktop.DBus.Peer", "Ping")


ADDRESS = ""
# How a service is unlocked that only a person can unlock by a prompt; `None` for one that needs no passcode.
PEER = None


def run(address, peer=None):
    """Runs every law; returns a dictionary from its name to `None` or the reason why it does not hold."""
    global ADDRESS, PEER
    ADDRESS, PEER = address, peer
    results = {}
    for name, check in LAWS:
        a, b = Client(address), Client(address)
        try:
            check(a, b)
            results[name] = None
        except Exception as error:  # noqa: BLE001
            results[name] = f"{type(error).__name__}: {error}"[:300]
            if peer is not None:
                peer.start_again_if_ended()
            try:
                unlock_again(a, a.alias("default"))
            except Exception:  # noqa: BLE001, S110
                pass
        finally:
            a.close()
            b.close()
    return results
