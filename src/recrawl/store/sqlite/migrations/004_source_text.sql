-- Any three letters of an address or a title, so that a search among sources does not read them all.
CREATE VIRTUAL TABLE sources_text USING fts5 (
    url, title, content = 'sources', content_rowid = 'id', tokenize = 'trigram'
);
INSERT INTO sources_text (rowid, url, title) SELECT id, url, title FROM sources;
CREATE TRIGGER sources_enter_search AFTER INSERT ON sources BEGIN
    INSERT INTO sources_text (rowid, url, title) VALUES (new.id, new.url, new.title);
END;
CREATE TRIGGER sources_leave_search AFTER DELETE ON sources BEGIN
    INSERT INTO sources_text (sources_text, rowid, url, title) VALUES ('delete', old.id, old.url, old.title);
END;
CREATE TRIGGER sources_change_search AFTER UPDATE OF url, title ON sources
WHEN old.url IS NOT new.url OR old.title IS NOT new.title BEGIN
    INSERT INTO sources_text (sources_text, rowid, url, title) VALUES ('delete', old.id, old.url, old.title);
    INSERT INTO sources_text (rowid, url, title) VALUES (new.id, new.url, new.title);
END;
