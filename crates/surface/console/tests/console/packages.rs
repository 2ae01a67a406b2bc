//! The page of a package that several extensions follow, each in its own channel.

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_package_opens_on_the_followed_channel_and_marks_every_extension() {
    let world = World::empty().await;
    world.publish().await;
    let page = "/packages/main/web-operator";
    world.page_with(page, "Versions in stable").await;
    // Nobody looks after extensions here, so that what they say stays as it is.
    world.claim("edge", "fast", "1.2.0").await;
    world.claim("steady", "fast", "2.0.0").await;
    world.page_with(page, "Installed by edge").await;
    let answer = world.page_with(page, "Installed by steady").await;
    insta::assert_snapshot!("package_of_several_extensions", answer.content());
    let other = world.visit("/packages/main/web-operator?channel=stable").await;
    assert!(other.text.contains("Versions in stable"), "{}", other.text);
    assert!(other.text.contains("Installed by edge"), "{}", other.text);
}
